//! Whether servers hold what the service promises while disks, networks, databases, clocks and
//! the servers themselves fail.
//!
//! `cargo xtask faults` runs this. Servers, nginx and PostgreSQL are children on free ports of the
//! loopback, and are ended by their ids.

mod drills;
mod install;
mod limits;
mod orders;
mod replicas;
mod sqlite;
mod traffic;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use drills::{Control, DrillArgs};
use sqlite::SqliteArgs;
use std::fmt::Debug;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use testbed::postgres::Installed;
use testbed::{Program, Report, exit_code, until_conclusive};
use tokio::runtime::Runtime;

/// Try Store Orders while disks, networks, databases and servers fail.
///
/// Needs a C compiler, because a slow disk and a moved clock are libraries before the C
/// library; nginx for the proxy; PostgreSQL; and root or sudo to mount a disk that can be full.
#[derive(Debug, Parser)]
#[command(
    name = "faults",
    bin_name = "cargo xtask faults",
    after_help = "\
Examples:
  cargo xtask faults --install             install what is missing, on Debian or Ubuntu
  cargo xtask faults sqlite                a server on its embedded store, all cases
  cargo xtask faults orders                orders in PostgreSQL, all cases
  cargo xtask faults orders failover       one
  cargo xtask faults limits                request counts, all cases
  cargo xtask faults drills --seed 7       faults drawn by a seed, for a minute
  cargo xtask faults drills --for 10m --fault promote-paused
  cargo xtask faults judge history.jsonl   what a kept history breaks
  cargo xtask faults controls              damaged set-ups must be noticed

Exit status: 0 everything held, 1 something did not, 2 a case could not run, 3 the machine
stood still for too long for the run to prove anything"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Install what is missing with apt-get, as root or with sudo
    #[arg(long, global = true)]
    install: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A server on its embedded store, its disk and its clients
    Sqlite(SqliteArgs),
    /// Orders, accounts and keys in PostgreSQL
    Orders(CasesArgs<orders::Case>),
    /// Windows, strikes and bans in PostgreSQL
    Limits(LimitsArgs),
    /// Three servers, under faults drawn by a seed
    Drills(DrillArgs),
    /// Judge a history that a drill recorded
    Judge {
        /// `history.jsonl`
        #[arg(value_name = "FILE")]
        history: PathBuf,
    },
    /// Damaged stores and networks: the rules of the drills must notice
    Controls(CasesArgs<Control>),
}

#[derive(Args, Debug)]
struct CasesArgs<C: ValueEnum + Send + Sync + 'static> {
    /// Only these
    #[arg(value_enum, value_name = "CASE")]
    cases: Vec<C>,
}

#[derive(Args, Debug)]
struct LimitsArgs {
    #[command(flatten)]
    cases: CasesArgs<limits::Case>,
    /// Where the random choices begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl<C: ValueEnum + Send + Sync> CasesArgs<C> {
    /// Those that were named, or all.
    fn chosen(&self) -> &[C] {
        if self.cases.is_empty() { C::value_variants() } else { &self.cases }
    }
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    if cli.install {
        install::install(out)?;
    }
    match &cli.command {
        None if cli.install => Ok(0),
        None => anyhow::bail!("name what to try: cargo xtask faults drills, for one"),
        Some(Command::Sqlite(arguments)) => {
            arguments.check_tools()?;
            arguments.run(&build()?, &runtime()?, out)
        }
        Some(Command::Orders(arguments)) => try_orders(arguments, out),
        Some(Command::Limits(arguments)) => try_limits(arguments, out),
        Some(Command::Drills(arguments)) => try_drills(arguments, out),
        Some(Command::Judge { history }) => judge(history, out),
        Some(Command::Controls(arguments)) => try_controls(arguments, out),
    }
}

fn try_orders(arguments: &CasesArgs<orders::Case>, out: &mut dyn Write) -> anyhow::Result<u8> {
    let installed = Installed::find()?;
    let program = build()?;
    writeln!(out, "{}", installed.version)?;
    let run = async |case: orders::Case, report: &mut Report| {
        case.run(&installed, &program, report).await
    };
    try_cases(arguments, run, out)
}

fn try_limits(arguments: &LimitsArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let installed = Installed::find()?;
    let program = build()?;
    writeln!(out, "{}", installed.version)?;
    let run = async |case: limits::Case, report: &mut Report| {
        fastrand::seed(arguments.seed);
        case.run(&installed, &program, report).await
    };
    try_cases(&arguments.cases, run, out)
}

fn try_drills(arguments: &DrillArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let installation = drills::find(&build()?)?;
    let runtime = runtime()?;
    let mut worst = 0;
    for seed in arguments.seeds() {
        writeln!(out, "== {}", arguments.command(seed))?;
        let run =
            |report: &mut Report| runtime.block_on(arguments.run(&installation, seed, report));
        worst = worst.max(until_conclusive(out, run)?);
    }
    Ok(worst)
}

fn judge(file: &Path, out: &mut dyn Write) -> anyhow::Result<u8> {
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let violations = history::violations(history::read_events(BufReader::new(opened))?);
    for violation in &violations {
        writeln!(out, "violation: {violation}")?;
    }
    Ok(u8::from(!violations.is_empty()))
}

fn try_controls(arguments: &CasesArgs<Control>, out: &mut dyn Write) -> anyhow::Result<u8> {
    let installation = drills::find(&build()?)?;
    let run =
        async |control: Control, report: &mut Report| control.run(&installation, 1, report).await;
    try_cases(arguments, run, out)
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// The server, built from this checkout.
fn build() -> anyhow::Result<Program> {
    Program::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// Runs each; the worst exit status.
fn try_cases<C: ValueEnum + Copy + Debug + Send + Sync>(
    arguments: &CasesArgs<C>,
    run: impl AsyncFn(C, &mut Report) -> anyhow::Result<()>,
    out: &mut dyn Write,
) -> anyhow::Result<u8> {
    let runtime = runtime()?;
    let mut worst = 0;
    for case in arguments.chosen() {
        writeln!(out, "== {case:?}")?;
        let code = until_conclusive(out, |report| runtime.block_on(run(*case, report)))?;
        worst = worst.max(code);
    }
    Ok(worst)
}
