//! Scenarios of a server on its embedded store, without random faults. Chaos runs inject random
//! faults into an embedded store.

mod commands;
mod mounted_file;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
    ]
}
