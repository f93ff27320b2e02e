//! The servers that are measured, each on the served side's core: the release
//! server, bare dropshot and nginx.

use crate::machine::Side;
use anyhow::Context;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testbed::{ChildProcess, DataDir, Pid, ServerProcess};

/// Requests without a key are never limited: the generator has one address.
const NO_KEYLESS_LIMIT: [&str; 2] = ["--keyless-per-minute", "4294967295"];

/// A server that answers.
#[derive(Debug)]
pub struct MeasuredServer {
    pub address: SocketAddr,
    process: Process,
}

#[derive(Debug)]
enum Process {
    /// It printed where it listens.
    Announced(ServerProcess),
    /// It was found to listen, and keeps no log.
    Silent(ChildProcess),
}

impl MeasuredServer {
    /// Serves a data directory. `preload` is a library to load before the system's.
    pub fn serve(
        data: &DataDir,
        flags: &[&str],
        preload: Option<&Path>,
    ) -> anyhow::Result<MeasuredServer> {
        let mut command = data.command();
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        let flags = [&NO_KEYLESS_LIMIT, flags].concat();
        let process = Side::Served.run(|| data.start(&mut command, &flags))?;
        MeasuredServer::announced(process)
    }

    /// Starts a command that prints where it listens.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<MeasuredServer> {
        let process = Side::Served.run(|| ServerProcess::start(command, log))?;
        MeasuredServer::announced(process)
    }

    fn announced(process: ServerProcess) -> anyhow::Result<MeasuredServer> {
        Ok(MeasuredServer { address: process.address()?, process: Process::Announced(process) })
    }

    /// A server that was found to listen at this address.
    pub fn silent(process: ChildProcess, address: SocketAddr) -> MeasuredServer {
        MeasuredServer { address, process: Process::Silent(process) }
    }

    pub fn pid(&self) -> anyhow::Result<Pid> {
        match &self.process {
            Process::Announced(server) => server.process().pid(),
            Process::Silent(process) => process.pid(),
        }
    }

    /// From its start to the line that says where it listens.
    pub fn started_in(&self) -> anyhow::Result<Duration> {
        match &self.process {
            Process::Announced(server) => Ok(server.started_in()),
            Process::Silent(_) => anyhow::bail!("this server does not print when it listens"),
        }
    }

    /// Empties the log, so that rounds do not fill the disk with it.
    pub fn clear_log(&self) -> anyhow::Result<()> {
        match &self.process {
            Process::Announced(server) => server.clear_log(),
            Process::Silent(_) => Ok(()),
        }
    }

    /// The last lines of the log above the level of information, for an error.
    pub fn complaints(&self) -> String {
        let Process::Announced(server) = &self.process else { return String::new() };
        let log = server.log();
        let complaints = log.lines().filter(|line| !line.contains(r#""level":"INFO""#));
        let mut last: Vec<&str> = complaints.rev().take(3).collect();
        last.reverse();
        if last.is_empty() { String::new() } else { format!("; its log: {}", last.join(" / ")) }
    }

    pub fn stop(self) -> anyhow::Result<()> {
        match self.process {
            Process::Announced(server) => server.stop(),
            Process::Silent(process) => process.stop().map(drop),
        }
        .context("a measured server did not stop")
    }
}
