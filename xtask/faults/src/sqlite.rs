//! Scenarios of a server on its embedded store. They run commands on slow disks, and mount a
//! store's file without its directory. Random faults on an embedded store are part of the chaos
//! runs instead.

mod commands;
mod mounted_file;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
    ]
}
