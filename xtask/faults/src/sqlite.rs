//! Scenarios of a server with an embedded store and without random faults. Chaos runs test an
//! embedded store with random faults.

mod commands;
mod mounted_file;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
    ]
}
