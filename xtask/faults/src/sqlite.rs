//! Scenarios of a server on its embedded store: commands on slow disks, and a store's file that is
//! mounted without its directory. Chaos runs inject random faults.

mod commands;
mod mounted_file;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
    ]
}
