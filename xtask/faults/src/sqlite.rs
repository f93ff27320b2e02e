//! A server on its embedded store: commands and disks, a moved clock, bursts and hostile clients,
//! broken requests, nginx before it. Random faults are in the drills.

mod clock;
mod commands;
mod connect_burst;
mod full_disk;
mod nginx;
mod proxy;
mod requests;
mod slow_readers;

use crate::scenario::{Scenario, Tools, scenario};
use testbed::{DataDir, Key, ServerProcess};

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

/// A store in a directory of its own, with pending orders.
struct Embedded {
    data: DataDir,
    /// A key without a practical limit.
    key: Key,
    _directory: Option<tempfile::TempDir>,
}

impl Embedded {
    /// With orders from 1 to this one.
    fn new(tools: &Tools, orders: i64) -> anyhow::Result<Embedded> {
        let directory = tempfile::tempdir()?;
        let data = DataDir::at(&tools.program, &directory.path().join("data"));
        Ok(Embedded { _directory: Some(directory), ..Embedded::at(data, orders)? })
    }

    /// The same in this directory.
    fn at(data: DataDir, orders: i64) -> anyhow::Result<Embedded> {
        data.import_pending(1..=orders)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        Ok(Embedded { data, key, _directory: None })
    }

    fn serve(&self) -> anyhow::Result<ServerProcess> {
        self.data.serve(&["--log-level", "warning"])
    }
}
