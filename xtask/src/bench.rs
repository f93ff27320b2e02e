//! `cargo xtask bench`: how fast the server is, beside what the frame, the
//! machine and the disk can do at most, in one run and one table; and whether
//! what clients saw under that load is true.
//!
//! Servers run on one core, the load on another. Nothing leaves the loopback.

pub mod admission;
pub mod cancels;
pub mod checker;
pub mod disk;
pub mod floors;
pub mod ground;
pub mod id_set;
pub mod keys;
pub mod lists;
pub mod load;
pub mod logging;
pub mod machine;
pub mod refusals;
pub mod rounds;
pub mod server;
pub mod startup;
pub mod streaming;
pub mod table;
pub mod together;
pub mod wire;
pub mod witness;

use crate::Outcome;
use anyhow::{Context, bail};
use clap::ValueEnum;
use ground::Ground;
use machine::Side;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};
use table::Row;

/// What to measure, and how thoroughly.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArgs {
    /// Shorter rounds: about a minute in all
    #[arg(long)]
    pub quick: bool,
    /// How many rounds the medians are over; one more goes uncounted before them
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Only this; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    pub only: Vec<Part>,
    /// Write JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// A part of the benchmark that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Lists of 100, 10,000 and 1,000,000 orders, plain and as gzip
    Lists,
    /// Cancels, and what the disk and SQLite can do
    Cancels,
    /// 401 and 429
    Refusals,
    /// A short list while a long one is streamed
    Streaming,
    /// Lists and cancels at the same time
    Together,
    /// Many accounts against few
    Admission,
    /// The log on against off
    Logging,
    /// Start and memory with a million orders
    Startup,
    /// Whether what clients saw under load is true
    Checker,
}

/// Builds the release programs and has the benchmark run by the one of them
/// that is this program: a debug build would measure itself.
pub fn build_and_run(arguments: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    ground::check_tools()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--package", "store-orders", "--package", "xtask"])
        .current_dir(crate::repository::Repository::here().root())
        .status()
        .context("cargo cannot be run")?;
    if !built.success() {
        bail!("the release programs cannot be built");
    }
    let program = release_directory()?.join("xtask");
    let mut command = Command::new(&program);
    command.arg("bench-run").args(arguments.as_given());
    out.flush()?;
    let status = command.status().with_context(|| format!("cannot run {}", program.display()))?;
    Ok(match status.code() {
        Some(0) => Outcome::Clean,
        Some(1) => Outcome::Drift,
        _ => Outcome::CouldNotRun,
    })
}

impl BenchArgs {
    fn as_given(&self) -> Vec<String> {
        let mut given = vec!["--rounds".to_string(), self.rounds.to_string()];
        given.extend(self.quick.then(|| "--quick".to_string()));
        given.extend(self.json.then(|| "--json".to_string()));
        for part in self.only.iter().filter_map(Part::to_possible_value) {
            given.extend(["--only".to_string(), part.get_name().to_string()]);
        }
        given
    }
}

/// Beside the profile that this program was built in.
fn release_directory() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(|profile| profile.parent());
    Ok(target.context("this program is in no target directory")?.join("release"))
}

/// Measures and prints. A figure that falls short is no failure; an answer that
/// cannot be true is one.
pub fn run(arguments: &BenchArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    ground::check_tools()?;
    let machine = machine::name();
    Side::Generator.take()?;
    let span = Duration::from_millis(if arguments.quick { 120 } else { 700 });
    let mut ground = Ground::new(&release_directory()?, arguments.rounds.into(), span)?;
    let mut rows = Vec::new();
    let (mut violations, mut others) = (Vec::new(), 0.0_f64);
    for part in Part::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(part) {
            others = others.max(machine::busy_by_others());
            let name = part.to_possible_value().map(|value| value.get_name().to_string());
            let measured = part.measure(&mut ground, &mut violations);
            rows.extend(measured.with_context(|| name.unwrap_or_default())?);
        }
    }
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    if arguments.json {
        let report = serde_json::json!({
            "machine": machine, "date": date, "rounds": arguments.rounds,
            "round_ms": span.as_millis() as u64, "busy_by_others": others, "rows": rows,
            "violations": violations,
        });
        writeln!(out, "{report:#}")?;
    } else {
        writeln!(out, "{machine}; {date}")?;
        writeln!(
            out,
            "Medians over {} rounds of {} ms, taking turns; ratios are medians of each round's.\n\
             Others kept up to {others:.1} cores busy; the CPU ratio, what an answer costs the \
             served side, suffers less from that.\n",
            arguments.rounds,
            span.as_millis()
        )?;
        table::write(&rows, out)?;
        for violation in &violations {
            writeln!(out, "\nviolation: {violation}")?;
        }
    }
    Ok(if violations.is_empty() { Outcome::Clean } else { Outcome::Drift })
}

impl Part {
    fn measure(
        self,
        ground: &mut Ground,
        violations: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Row>> {
        match self {
            Part::Lists => lists::measure(ground),
            Part::Cancels => cancels::measure(ground),
            Part::Refusals => refusals::measure(ground),
            Part::Streaming => streaming::measure(ground),
            Part::Together => together::measure(ground),
            Part::Admission => admission::measure(ground),
            Part::Logging => logging::measure(ground),
            Part::Startup => startup::measure(ground),
            Part::Checker => {
                let (row, found) = witness::measure(ground)?;
                violations.extend(found);
                Ok(vec![row])
            }
        }
    }
}
