//! Whether the server holds what it promises when its surroundings fail: a slow, hung or
//! full disk, broken requests, hostile clients before a proxy.
//!
//! `cargo xtask drill` runs this. Each drill starts its own processes, sends traffic to
//! the loopback alone, prints its figures, and names what did not hold.

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

use clap::{Parser, ValueEnum};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use testbed::{Program, Report, SmallDisk, check_compiler, exit_code, until_conclusive};
use tokio::runtime::Runtime;

/// Try the server with a slow, a hung and a full disk, and with hostile clients.
///
/// Needs a C compiler, because a slow disk is a library before the C library's fsync, nginx
/// for the proxy, and root or sudo to mount a tmpfs that can be full.
#[derive(Debug, Parser)]
#[command(
    name = "drill",
    bin_name = "cargo xtask drill",
    after_help = "\
Examples:
  cargo xtask drill                      all of them
  cargo xtask drill commands --seed 7    one
  cargo xtask drill kills --for 10m      with one seed after the other

Exit status: 0 everything held, 1 something did not, 2 a drill could not run, 3 the
machine stood still for too long for the run to prove anything"
)]
struct Cli {
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
enum Drill {
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

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    let drills = if cli.drills.is_empty() { Drill::value_variants() } else { &cli.drills };
    drills.iter().try_for_each(|drill| drill.check_tools())?;
    let program = Program::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let began = Instant::now();
    let mut worst = 0;
    for seed in cli.seed.. {
        for drill in drills {
            worst = worst.max(drill.attempt(&program, &runtime, seed, out)?);
        }
        if cli.span.is_none_or(|span| began.elapsed() >= span) {
            break;
        }
    }
    Ok(worst)
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
