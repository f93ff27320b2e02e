//! The servers that are measured.

use crate::machine::Side;
use anyhow::Context;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testbed::{DataDir, Pid, Preload, ServerProcess};

/// Requests without a key are never limited: the generator has one address.
const NO_KEYLESS_LIMIT: [&str; 2] = ["--keyless-per-minute", "4294967295"];

/// A server that answers.
#[derive(Debug)]
pub struct MeasuredServer {
    pub address: SocketAddr,
    process: ServerProcess,
}

impl MeasuredServer {
    /// Serves a data directory on the cores of this side, and on this disk if one is given.
    pub fn serve(
        side: Side,
        data: &DataDir,
        flags: &[&str],
        disk: Option<&Preload>,
    ) -> anyhow::Result<MeasuredServer> {
        let mut command = data.command();
        if let Some(disk) = disk {
            disk.put_into(&mut command);
        }
        let flags = [&NO_KEYLESS_LIMIT, flags].concat();
        let process = side.run(|| data.start(&mut command, &flags))?;
        MeasuredServer::announced(process)
    }

    /// Starts a command that prints where it listens.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<MeasuredServer> {
        let process = Side::Served.run(|| ServerProcess::start(command, log))?;
        MeasuredServer::announced(process)
    }

    fn announced(process: ServerProcess) -> anyhow::Result<MeasuredServer> {
        Ok(MeasuredServer { address: process.address()?, process })
    }

    pub fn pid(&self) -> anyhow::Result<Pid> {
        self.process.process().pid()
    }

    /// From its start to the line that says where it listens.
    pub fn started_in(&self) -> Duration {
        self.process.started_in()
    }

    /// Empties the log, so that rounds do not fill the disk with it.
    pub fn clear_log(&self) -> anyhow::Result<()> {
        self.process.clear_log()
    }

    /// The last lines of the log above the level of information, for an error.
    pub fn complaints(&self) -> String {
        // The log is written every tenth of a second.
        std::thread::sleep(Duration::from_millis(200));
        let log = self.process.log();
        let complaints = log.lines().filter(|line| !line.contains(r#""level":"INFO""#));
        let mut last: Vec<&str> = complaints.rev().take(3).collect();
        last.reverse();
        if last.is_empty() { String::new() } else { format!("; its log: {}", last.join(" / ")) }
    }

    pub fn stop(self) -> anyhow::Result<()> {
        self.process.stop().context("a measured server did not stop")
    }
}
