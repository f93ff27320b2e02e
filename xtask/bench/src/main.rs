//! Compares the speed of the server with the speed of dropshot, SQLite and PostgreSQL. With
//! `--program`, also compares the server with another build of itself.
//!
//! `cargo xtask bench` runs this program. Servers run on one core and the load generator runs on
//! another, and all traffic stays on the loopback. README.md explains how each row is measured.

mod bare_dropshot;
mod connection;
mod embedded;
mod load;
mod machine;
mod postgres;
mod round_trips;
mod rounds;
mod setup;
mod spread;
mod sqlite_commits;
mod table;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use rounds::Builds;
use setup::Setup;
use sqlite_commits::SqliteCommits;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};
use table::Row;
use testbed::{Program, exit_code};

/// The server's allocator. Bare dropshot, which this program also runs, must use the same one for a
/// fair comparison.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compare the speed of the server with that of its web framework and databases.
///
/// Builds and starts the release server, drives it over loopback and compares it with bare
/// dropshot, SQLite and PostgreSQL. Never fails because of a low speed. Needs a C compiler, sqlite3
/// and PostgreSQL.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    bin_name = "cargo xtask bench",
    after_help = concat!(
        "Examples:\n",
        "  cargo xtask bench --quick                    all of it, less exactly\n",
        "  cargo xtask bench --only lists --rounds 15   one part, more exactly\n",
        "  cargo xtask bench --program OLD              beside another build\n\n",
        "Exit status: 0 measured, 2 not measured",
    ),
)]
struct Cli {
    /// Run each load for 120 ms a round instead of 700 ms
    #[arg(long)]
    quick: bool,
    /// Number of measured rounds, after one round that only warms up
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=25))]
    rounds: u16,
    /// Run only this part of the benchmark; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    only: Vec<Part>,
    /// Measure this build of the server as well, in the same rounds
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Serve this file with dropshot alone. The benchmark starts itself with this option, to
    /// compare the server with dropshot
    #[arg(long, value_name = "FILE", hide = true)]
    bare_dropshot: Option<PathBuf>,
    #[command(flatten)]
    sqlite_commits: SqliteCommits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Lists of 100, 10,000 and 1,000,000 orders
    Lists,
    /// Requests that are rejected with 401 or 429
    Rejections,
    /// Cancellations by 1 client and by 64 clients, with the disk's fsync and with an fsync of 1 ms
    Cancels,
    /// The start of a server with a million orders
    Start,
    /// With a store in PostgreSQL: lists, request counts, cancellations and the start of a server
    Postgres,
    /// The number of round trips to PostgreSQL that each kind of request waits for
    RoundTrips,
}

fn main() -> ExitCode {
    let (cli, mut out) = (Cli::parse(), anstream::stdout());
    let measured = match (&cli.bare_dropshot, &cli.sqlite_commits.file) {
        (Some(file), _) => bare_dropshot::serve(file, &mut out),
        (None, Some(file)) => sqlite_commits::run(file, &cli.sqlite_commits, &mut out),
        (None, None) => measure(&cli, &mut out),
    };
    exit_code(measured.map(|()| 0))
}

fn measure(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<()> {
    let all = Part::value_variants().iter().copied();
    let parts: Vec<Part> =
        all.filter(|part| cli.only.is_empty() || cli.only.contains(part)).collect();
    parts.iter().try_for_each(|part| part.check_tools())?;
    let this = Program::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    let machine = machine::description()?;
    machine::take_generator_core()?;
    // Do not use the system's temporary directory, because fsync costs nothing if that directory is
    // in memory.
    let directory = this.path().parent().context("the program is in a directory")?;
    let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(directory)?;
    let programs = Builds { this, other: cli.program.as_deref().map(Program::at) };
    let loop_time = Duration::from_millis(if cli.quick { 120 } else { 700 });
    let setup = Setup { rounds: cli.rounds, loop_time, programs, directory };
    let (mut rows, mut busy_by_others) = (Vec::new(), 0_f64);
    for part in parts {
        busy_by_others = busy_by_others.max(machine::busy_by_others()?);
        rows.extend(part.measure(&setup)?);
    }
    writeln!(
        out,
        "{machine}; {}; medians over {} rounds, with quartiles; closed loops of {} ms.\n\
         Before the parts, other programs kept up to {busy_by_others:.1} cores busy.\n",
        humantime::format_rfc3339_seconds(SystemTime::now()),
        cli.rounds,
        loop_time.as_millis()
    )?;
    Ok(table::write(&rows, out)?)
}

impl Part {
    /// Fails if a program that the part needs is not installed. The benchmark checks all parts
    /// first, because a late failure would waste minutes of measuring.
    fn check_tools(self) -> anyhow::Result<()> {
        match self {
            Part::Start => Command::new("sqlite3")
                .arg("--version")
                .output()
                .map(drop)
                .context("sqlite3 is missing: apt-get install sqlite3"),
            Part::Postgres | Part::RoundTrips => testbed::postgres::Installed::find().map(drop),
            Part::Cancels => Command::new("cc")
                .arg("--version")
                .output()
                .map(drop)
                .context("cc is missing: apt-get install gcc libc6-dev"),
            Part::Lists | Part::Rejections => Ok(()),
        }
    }

    fn measure(self, setup: &Setup) -> anyhow::Result<Vec<Row>> {
        match self {
            Part::Lists => embedded::lists(setup),
            Part::Rejections => embedded::rejections(setup),
            Part::Cancels => embedded::cancellations(setup),
            Part::Start => embedded::start(setup),
            Part::Postgres => postgres::measure(setup),
            Part::RoundTrips => round_trips::measure(setup),
        }
    }
}
