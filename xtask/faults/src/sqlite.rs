//! A server on its embedded store: commands and disks, a moved clock, bursts and hostile clients,
//! broken requests, nginx before it. Random faults are in the drills.

mod clock;
mod commands;
mod connect_burst;
mod embedded;
mod full_disk;
mod nginx;
mod proxy;
mod requests;
mod slow_readers;

use crate::scenario::{Scenario, scenario};

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("sqlite::clock", clock::run).untimed(),
        scenario!("sqlite::commands", commands::run),
        scenario!("sqlite::connect_burst", connect_burst::run),
        scenario!("sqlite::full_disk", full_disk::run),
        scenario!("sqlite::proxy", proxy::run),
        scenario!("sqlite::requests", requests::run),
        scenario!("sqlite::slow_readers", slow_readers::run),
    ]
}
