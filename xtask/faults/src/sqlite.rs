//! A server on its embedded store: commands and disks, a burst of clients, nginx before it. Random
//! faults are in the drills.

mod commands;
mod connect_burst;
mod embedded;
mod full_disk;
mod nginx;
mod proxy;

use crate::scenario::{Scenario, scenario};

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::connect_burst", connect_burst::run),
        scenario!("sqlite::full_disk", full_disk::run).untimed(),
        scenario!("sqlite::proxy", proxy::run),
    ]
}
