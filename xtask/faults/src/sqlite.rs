//! Scenarios of a server on its embedded store: commands on slow disks, and a file that is mounted
//! alone. Random faults are in the chaos runs.

mod commands;
mod mounted_file;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
    ]
}
