//! A server on its embedded store: a slow, hung or full disk, a moved clock, `kill -9`, broken
//! requests, hostile clients before a proxy.
//!
//! Each drill starts its own processes, prints its figures, and names what did not hold.

mod clients;
mod clock;
mod commands;
mod connect_burst;
mod failing_disk;
mod full_disk;
mod hung_disk;
mod kills;
mod proxy;
mod requests;
mod slow_disk;
mod slow_readers;

use clap::{Args, ValueEnum};
use std::io::Write;
use std::time::{Duration, Instant};
use testbed::{Program, Report, SmallDisk, check_compiler, until_conclusive};
use tokio::runtime::Runtime;

/// Which drills, and for how long.
#[derive(Args, Debug)]
pub struct SqliteArgs {
    /// Only these
    #[arg(value_enum, value_name = "NAME")]
    drills: Vec<Drill>,
    /// Where the random choices begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Repeat them with one seed after the other for this long, such as 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    span: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Drill {
    /// A wall clock that is set, also while the server is down
    Clock,
    /// Operators' commands beside a full load of cancellations, on slow disks
    Commands,
    /// A thousand clients that connect at once
    ConnectBurst,
    /// A disk whose fsync fails
    FailingDisk,
    /// A disk that is really full: a tmpfs, for which it needs root or sudo
    FullDisk,
    /// kill -9 again and again, with commands beside
    Kills,
    /// A disk that answers no fsync for some seconds
    HungDisk,
    /// Hostile clients before nginx with the configuration of `nginx-conf`
    Proxy,
    /// Generated requests, odd and broken ones too, beside a client that behaves
    Requests,
    /// A client that asks for long lists and reads none
    SlowReaders,
}

impl SqliteArgs {
    /// Fails if a program that one of the drills needs is missing.
    pub fn check_tools(&self) -> anyhow::Result<()> {
        self.chosen().iter().try_for_each(|drill| drill.check_tools())
    }

    fn chosen(&self) -> &[Drill] {
        if self.drills.is_empty() { Drill::value_variants() } else { &self.drills }
    }

    /// Runs each; the worst exit status.
    pub fn run(
        &self,
        program: &Program,
        runtime: &Runtime,
        out: &mut dyn Write,
    ) -> anyhow::Result<u8> {
        let began = Instant::now();
        let mut worst = 0;
        for seed in self.seed.. {
            for drill in self.chosen() {
                worst = worst.max(drill.attempt(program, runtime, seed, out)?);
            }
            if self.span.is_none_or(|span| began.elapsed() >= span) {
                break;
            }
        }
        Ok(worst)
    }
}

impl Drill {
    /// Fails if a program that the drill needs is missing.
    fn check_tools(self) -> anyhow::Result<()> {
        match self {
            Drill::Clock | Drill::Commands | Drill::HungDisk | Drill::FailingDisk => {
                check_compiler()
            }
            Drill::FullDisk => SmallDisk::mount(1).map(drop),
            Drill::Proxy => proxy::check_tools(),
            Drill::ConnectBurst | Drill::Kills | Drill::Requests | Drill::SlowReaders => Ok(()),
        }
    }

    /// Runs it until the machine did not stand still meanwhile; the exit status.
    fn attempt(
        self,
        program: &Program,
        runtime: &Runtime,
        seed: u64,
        out: &mut dyn Write,
    ) -> anyhow::Result<u8> {
        writeln!(out, "== {self:?}, seed {seed}")?;
        until_conclusive(out, |report| {
            fastrand::seed(seed);
            runtime.block_on(self.run(program, report))
        })
    }

    async fn run(self, program: &Program, report: &mut Report) -> anyhow::Result<()> {
        match self {
            Drill::Commands => commands::run(program, report).await,
            Drill::ConnectBurst => connect_burst::run(program, report).await,
            Drill::SlowReaders => slow_readers::run(program, report).await,
            Drill::Clock => clock::run(program, report).await,
            Drill::FailingDisk => failing_disk::run(program, report).await,
            Drill::FullDisk => full_disk::run(program, report).await,
            Drill::Kills => kills::run(program, report).await,
            Drill::HungDisk => hung_disk::run(program, report).await,
            Drill::Proxy => proxy::run(program, report).await,
            Drill::Requests => requests::run(program, report).await,
        }
    }
}
