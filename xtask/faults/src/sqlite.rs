//! Scenarios of a server on its embedded store: commands on slow disks, and nginx as its
//! proxy. Random faults are in the chaos runs.

mod commands;
mod embedded;
mod mounted_file;
mod nginx;
mod proxy;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::mounted_file", mounted_file::run).untimed(),
        scenario!("sqlite::proxy", proxy::run),
    ]
}
