//! Whether several servers on one real database hold what the service promises, whatever
//! fails.
//!
//! `cargo xtask engines` runs this. It starts database servers from the system's packages as
//! unprivileged children on free ports of the loopback, and ends them by their ids.

mod install;
mod orders;
mod replicas;
mod traffic;

use clap::{Args, Parser, Subcommand};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use testbed::postgres::Installed;
use testbed::{Canary, Program, Report};

/// A run in which the machine itself stood still for longer proves nothing.
const LONGEST_STALL: Duration = Duration::from_secs(1);

/// How often a run that proves nothing is repeated.
const ATTEMPTS: u32 = 3;

/// Try Store Orders on real database servers.
#[derive(Debug, Parser)]
#[command(
    name = "engines",
    bin_name = "cargo xtask engines",
    after_help = "\
Examples:
  cargo xtask engines --install              install what is missing, on Debian or Ubuntu
  cargo xtask engines orders                 all cases
  cargo xtask engines orders failover        one

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
    /// Orders, accounts and keys in PostgreSQL
    Orders(OrdersArgs),
}

#[derive(Args, Debug)]
struct OrdersArgs {
    /// Only these
    #[arg(value_enum, value_name = "CASE")]
    cases: Vec<orders::Case>,
    /// Where the random choices begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = anstream::stdout();
    match run(&cli, &mut out) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // If standard error is closed too, the exit status has to do.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    if cli.install {
        install::install(out)?;
    }
    match &cli.command {
        None if cli.install => Ok(0),
        None => anyhow::bail!("name what to try: cargo xtask engines orders"),
        Some(Command::Orders(arguments)) => try_orders(arguments, out),
    }
}

fn try_orders(arguments: &OrdersArgs, out: &mut dyn Write) -> anyhow::Result<u8> {
    let installed = Installed::find()?;
    let program = Program::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    writeln!(out, "{}", installed.version)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut worst = 0;
    for case in orders::chosen(&arguments.cases) {
        let mut code = 3;
        for _ in 0..ATTEMPTS {
            writeln!(out, "== {case:?}")?;
            fastrand::seed(arguments.seed);
            let canary = Canary::start()?;
            let mut report = Report::default();
            runtime.block_on(case.run(&installed, &program, &mut report))?;
            let stall = canary.longest_stall();
            report.write(stall, out)?;
            code = report.exit_code(stall > LONGEST_STALL);
            if code != 3 {
                break;
            }
        }
        worst = worst.max(code);
    }
    Ok(worst)
}
