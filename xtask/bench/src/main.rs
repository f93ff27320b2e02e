//! How fast the server is, compared with dropshot, SQLite, PostgreSQL and the disk in one run
//! and one table.
//!
//! `cargo xtask bench` runs this. Servers run on one core, the load on another;
//! nothing leaves the loopback. README.md says how each row is measured.

mod admission;
mod baselines;
mod cancels;
mod connection;
mod keys;
mod lists;
mod lists_beside_cancels;
mod load;
mod logging;
mod machine;
mod pages;
mod postgres;
mod rejections;
mod rounds;
mod server;
mod setup;
mod shared_limits;
mod spread;
mod sqlite_loop;
mod startup;
mod table;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand, ValueEnum};
use machine::Side;
use setup::BenchSetup;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};
use table::Row;
use testbed::{Program, exit_code};

/// The server's, so that bare dropshot differs from it in nothing but work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compare the server with what it is built on.
///
/// Builds and starts the release server, drives it over loopback and compares it
/// with bare dropshot, SQLite and PostgreSQL in the same run. Speed is reported,
/// never asserted. Needs sqlite3, PostgreSQL and a C compiler.
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    bin_name = "cargo xtask bench",
    args_conflicts_with_subcommands = true,
    after_help = concat!(
        "Examples:\n",
        "  cargo xtask bench --quick                    all of it in about a minute\n",
        "  cargo xtask bench --only lists --rounds 15   one part, more exactly\n\n",
        "Exit status: 0 measured, 2 not measured",
    ),
)]
struct Cli {
    #[command(subcommand)]
    helper: Option<Helper>,
    #[command(flatten)]
    arguments: BenchArgs,
}

/// What the benchmark starts as processes of their own.
#[derive(Debug, Subcommand)]
enum Helper {
    /// Bare dropshot
    #[command(hide = true)]
    BareDropshot(baselines::BareDropshotArgs),
    /// A loop of SQLite
    #[command(hide = true)]
    SqliteLoop(sqlite_loop::SqliteArgs),
}

/// What to measure, and how thoroughly.
#[derive(Clone, Debug, clap::Args)]
struct BenchArgs {
    /// Shorter rounds: about a minute in all
    #[arg(long)]
    quick: bool,
    /// How many rounds to measure; one more goes uncounted before them
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=99))]
    rounds: u16,
    /// Only this; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    only: Vec<Part>,
    /// Measure this program instead of building the server
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// A part of the benchmark that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Lists of 100, 10,000 and 1,000,000 orders, plain and as gzip
    Lists,
    /// Pages out of 1,000,000 orders, with filters and without, and while all are listed
    Pages,
    /// Cancels, and what SQLite can do
    Cancels,
    /// 401 and 429
    Rejections,
    /// Lists and cancels at the same time
    ListsBesideCancels,
    /// Many accounts against few
    Admission,
    /// The log on against off
    Logging,
    /// Start and memory with a million orders
    Startup,
    /// The store in PostgreSQL
    Postgres,
    /// Lists and cancels while six million orders are imported into PostgreSQL
    LongImport,
    /// Round trips to PostgreSQL that a request waits for
    RoundTrips,
    /// Requests counted in PostgreSQL
    SharedLimits,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = anstream::stdout();
    let measured = match &cli.helper {
        Some(Helper::BareDropshot(arguments)) => baselines::serve(arguments, &mut out),
        Some(Helper::SqliteLoop(arguments)) => sqlite_loop::repeat(arguments, &mut out),
        None => bench(&cli.arguments, &mut out),
    };
    exit_code(measured.map(|()| 0))
}

/// Measures and prints.
fn bench(arguments: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let parts: Vec<Part> = Part::value_variants()
        .iter()
        .copied()
        .filter(|part| arguments.only.is_empty() || arguments.only.contains(part))
        .collect();
    parts.iter().try_for_each(|part| part.check_tools())?;
    let program = match &arguments.program {
        Some(path) => Program::at(path),
        None => Program::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?,
    };
    let machine = machine::description();
    Side::Generator.take()?;
    let span = Duration::from_millis(if arguments.quick { 120 } else { 700 });
    let mut setup = BenchSetup::new(program, arguments.rounds.into(), span)?;
    let (mut rows, mut busy_by_others) = (Vec::new(), 0_f64);
    for part in parts {
        busy_by_others = busy_by_others.max(machine::busy_by_others());
        rows.extend(part.measure(&mut setup).with_context(|| format!("{part:?}"))?);
    }
    writeln!(
        out,
        "{machine}; {}; medians over {} rounds of {} ms, with quartiles.\n\
         Other programs kept up to {busy_by_others:.1} cores busy.\n",
        humantime::format_rfc3339_seconds(SystemTime::now()),
        arguments.rounds,
        span.as_millis()
    )?;
    Ok(table::write(&rows, out)?)
}

impl Part {
    /// Fails if a program that the part needs is missing.
    fn check_tools(self) -> anyhow::Result<()> {
        match self {
            Part::Cancels => testbed::check_compiler(),
            Part::Startup if Command::new("sqlite3").arg("--version").output().is_err() => {
                bail!("sqlite3 is missing: apt-get install sqlite3")
            }
            Part::Postgres | Part::LongImport | Part::RoundTrips | Part::SharedLimits => {
                postgres::check_tools()
            }
            _ => Ok(()),
        }
    }

    fn measure(self, setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
        match self {
            Part::Lists => lists::measure(setup),
            Part::Pages => pages::measure(setup),
            Part::Cancels => cancels::measure(setup),
            Part::Rejections => rejections::measure(setup),
            Part::ListsBesideCancels => lists_beside_cancels::measure(setup),
            Part::Admission => admission::measure(setup),
            Part::Logging => logging::measure(setup),
            Part::Startup => startup::measure(setup),
            Part::Postgres => postgres::measure(setup),
            Part::LongImport => postgres::long_import::measure(setup),
            Part::RoundTrips => postgres::round_trips::measure(setup),
            Part::SharedLimits => shared_limits::measure(setup),
        }
    }
}
