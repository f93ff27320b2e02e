//! Chaos runs: servers, clients and the operator work while faults are injected. A seed selects the
//! faults. The rules of `tests/support/history` check what clients see, and which orders the store
//! has at the end.

mod databases;
mod faults;
mod inject;
mod negative_controls;
mod operator;
mod run;
mod server;
mod site;
mod topology;

pub use negative_controls::negative_controls;

use crate::scenario::Scenario;
use clap::{Args, ValueEnum};
use faults::FaultKind;
use run::Plan;
use site::SeededDefects;
use std::fmt::Write as _;
use std::time::Duration;
use topology::Topology;

/// The flags of chaos runs. Other scenarios use only the first `--seed` and ignore the other flags.
#[derive(Args, Debug)]
pub struct ChaosArgs {
    /// Seed of the random choices. If the flag is repeated, each seed gets its own chaos run
    /// [default: random for chaos::, 1 for other scenarios]
    #[arg(long = "seed", value_name = "N")]
    seeds: Vec<u64>,
    /// Time for which a chaos run injects faults; on a slow machine, up to twice this time
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    duration: humantime::Duration,
    /// Inject only this kind of fault, again and again
    #[arg(long, value_enum, value_name = "NAME")]
    fault: Option<FaultKind>,
}

impl ChaosArgs {
    /// Returns the first seed, for the scenarios outside `chaos::`. Those scenarios run only once.
    pub fn scenario_seed(&self) -> u64 {
        self.seeds.first().copied().unwrap_or(1)
    }

    /// Returns a chaos run for each seed and each topology. Without `--seed`, all runs use one
    /// random seed. Omits topologies in which the fault of `--fault` cannot happen.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let seeds = match self.seeds.is_empty() {
            true => vec![fastrand::u64(..1_000_000)],
            false => self.seeds.clone(),
        };
        let mut scenarios = Vec::new();
        for topology in Topology::value_variants() {
            if self.fault.is_some_and(|fault| !fault.is_on(*topology)) {
                continue;
            }
            let group = format!("chaos::{}", format!("{topology:?}").to_lowercase());
            for seed in &seeds {
                let plan = Plan {
                    topology: *topology,
                    seed: *seed,
                    duration: Duration::from(self.duration),
                    only_kind: self.fault,
                    seeded_defects: SeededDefects::default(),
                    expected_rule: None,
                    repeat_command: self.repeat_command(&group, *seed),
                };
                let duration = plan.duration;
                // The name has `_` after the group. With `::`, the filter `postgres::` would also
                // select this run.
                let scenario =
                    Scenario::new(format!("{group}_seed_{seed}"), move |tools, report| {
                        let plan = plan.clone();
                        Box::pin(async move { run::run(tools, &plan, report).await.map(drop) })
                    });
                scenarios.push(scenario.with_fault_time(duration));
            }
        }
        scenarios
    }

    fn repeat_command(&self, group: &str, seed: u64) -> String {
        let mut command =
            format!("cargo xtask faults {group} --seed {seed} --for {}", self.duration);
        if let Some(fault) = self.fault {
            // Writing to a String cannot fail.
            let _ = write!(command, " --fault {}", fault.name());
        }
        command
    }
}
