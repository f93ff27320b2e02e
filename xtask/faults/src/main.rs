//! Tests that servers work as documented while disks, networks, databases, clocks and the servers
//! themselves fail. `cargo xtask faults` runs this program.
//!
//! Servers and PostgreSQL are child processes that listen on free loopback ports.

mod chaos;
mod limits;
mod postgres;
mod replicas;
mod scenario;
mod sqlite;
mod systemd;

use anyhow::{Context, bail};
use chaos::ChaosArgs;
use clap::Parser;
use libtest_mimic::{Arguments, Trial};
use scenario::{Scenario, Tools};
use std::fs::File;
use std::io::{BufReader, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use testbed::{Program, exit_code};

/// Test Store Orders while disks, networks, databases and servers fail
#[derive(Debug, Parser)]
#[command(
    name = "faults",
    bin_name = "cargo xtask faults",
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}\n\n{after-help}",
    after_help = "\
Scenarios are named by what they try:
  sqlite::             a server on its embedded store: commands on slow disks, a mounted file
  conformance::        what every engine of the store must do, in PostgreSQL
  postgres::           orders, accounts and keys in PostgreSQL
  limits::             windows, strikes and bans in PostgreSQL
  systemd::            the handbook's pages on a booted systemd, in a container
  chaos::              chaos runs: faults drawn by a seed
  negative_controls::  chaos runs with a seeded defect, which the rules must detect

Scenarios that limit times run alone, others several at once. On Debian and Ubuntu, install
what they need: apt-get install curl gcc libc6-dev nginx-light postgresql, and for systemd:: debootstrap
and systemd-container. Mounting a small disk and booting a container need root or sudo.

Examples:
  cargo xtask faults --list
  cargo xtask faults postgres::                     all of these
  cargo xtask faults postgres::keys --exact         one
  cargo xtask faults limits:: postgres::keys        several filters
  cargo xtask faults chaos::postgres --seed 7       a minute of random faults
  cargo xtask faults chaos::embedded --for 10m
  cargo xtask faults chaos::postgres --for 10m --fault promote-paused
  cargo xtask faults --check-history history.jsonl  the violations in a kept history

Exit status: 0 everything held, 1 something did not, 2 a scenario could not run, 3 the machine
stood still for too long for the run to prove anything"
)]
struct Cli {
    #[command(flatten)]
    tests: Arguments,
    /// Further filters. A scenario runs if it matches any of the filters
    #[arg(value_name = "FILTER")]
    more_filters: Vec<String>,
    #[command(flatten)]
    chaos: ChaosArgs,
    /// Check the recording of a chaos run for violations, and run no scenarios
    #[arg(long, value_name = "FILE")]
    check_history: Option<PathBuf>,
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    if let Some(history) = &cli.check_history {
        return check_history(history, out);
    }
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenarios = select_scenarios(cli)?;
    let program = if cli.tests.list { Program::at(&checkout) } else { Program::build(&checkout)? };
    let tools = Arc::new(Tools::new(program, cli.chaos.scenario_seed()));
    let trials = scenarios.into_iter().map(|scenario| scenario.into_trial(&tools)).collect();
    let selected = Arguments { filter: None, ..cli.tests.clone() };
    let conclusion = libtest_mimic::run(&selected, trials);
    // A scenario that panicked has set no exit status, so also use the result of `libtest_mimic`.
    Ok(tools.exit_status().max(u8::from(conclusion.has_failed())))
}

/// Returns the scenarios that the command line selects. Fails if a filter selects none.
fn select_scenarios(cli: &Cli) -> anyhow::Result<Vec<Scenario>> {
    let groups = [
        sqlite::scenarios(),
        postgres::conformance::scenarios(),
        postgres::scenarios(),
        limits::scenarios(),
        systemd::scenarios(),
        cli.chaos.scenarios(),
        chaos::negative_controls(),
    ];
    let mut scenarios: Vec<Scenario> = groups.into_iter().flatten().collect();
    // `Arguments` has only one filter, so each further filter gets a copy of `Arguments`.
    let further = cli.more_filters.iter().map(|filter| {
        let filter = Some(filter.clone());
        Arguments { filter, ..cli.tests.clone() }
    });
    let selections: Vec<Arguments> = iter::once(cli.tests.clone()).chain(further).collect();
    let selects = |selection: &Arguments, scenario: &Scenario| {
        !selection.is_filtered_out(&Trial::test(scenario.name(), || Ok(())))
    };
    for selection in &selections {
        if !scenarios.iter().any(|scenario| selects(selection, scenario)) {
            let mut groups: Vec<&str> = scenarios
                .iter()
                .filter_map(|scenario| Some(scenario.name().rsplit_once("::")?.0))
                .collect();
            groups.dedup();
            let filter = selection.filter.as_deref().unwrap_or_default();
            bail!("no scenario is named {filter:?}: they are in {}", groups.join(", "));
        }
    }
    scenarios.retain(|scenario| selections.iter().any(|selection| selects(selection, scenario)));
    Ok(scenarios)
}

fn check_history(file: &Path, out: &mut dyn Write) -> anyhow::Result<u8> {
    let history = File::open(file).with_context(|| file.display().to_string())?;
    let violations = history::violations(history::read_events(BufReader::new(history))?);
    for violation in &violations {
        writeln!(out, "violation: {violation}")?;
    }
    Ok(u8::from(!violations.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed::{assert_text, str};

    fn select(arguments: &[&str]) -> anyhow::Result<Vec<String>> {
        let cli = Cli::parse_from([&["faults"], arguments].concat());
        Ok(select_scenarios(&cli)?.iter().map(|scenario| scenario.name().to_string()).collect())
    }

    #[test]
    fn an_unknown_scenario_is_an_error_that_lists_the_groups() {
        let error = |arguments: &[&str]| {
            select(arguments).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let all = "no scenario is named \"chaos::mysql\": they are in sqlite, conformance, \
                   postgres, limits, systemd, chaos, negative_controls";
        assert_eq!(error(&["chaos::mysql"]), all);
        assert_eq!(error(&["limits::", "chaos::mysql"]), all);
        let no_postgres = all.replace("mysql", "postgres");
        assert_eq!(error(&["chaos::postgres", "--fault", "disk-full"]), no_postgres);
        assert_eq!(error(&["chaos::embedded", "--fault", "disk-full"]), "");
    }

    #[test]
    fn filters_select_the_scenarios_that_match_one_of_them() {
        let names = ["sqlite::mounted_file", "limits::agreement"];
        assert_eq!(select(&["limits::agree", "sqlite::mounted"]).unwrap(), names);
        assert_eq!(select(&[names[0], names[1], "--exact"]).unwrap(), names);
        let group = select(&["postgres::"]).unwrap();
        assert!(group.iter().all(|name| name.starts_with("postgres::")), "{group:?}");
    }

    #[test]
    fn a_violation_shows_the_operations_that_contradict_each_other() {
        let recordings =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/history/tests/recordings");
        let mut printed = Vec::new();
        let status =
            check_history(&Path::new(recordings).join("listed-after204.jsonl"), &mut printed);
        assert_eq!(status.unwrap(), 1);
        let expected = str![[r#"
violation: a list that began after a 204 shows the id: order 2
    1.000000 s writer-1 cancels 2 at a with key_1; 1.010000 s 204 (op 1)
    1.011000 s lister-1 lists at b with key_1; 1.020000 s 200, 5 orders (op 2)
"#]];
        assert_text(&String::from_utf8(printed).unwrap(), expected);
    }
}
