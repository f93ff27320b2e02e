//! Servers, clients of all kinds, and faults drawn by a seed; what the clients see is held against
//! the rules of `tests/support/history` while it goes on and at the end. Controls, which are damaged on
//! purpose, prove that the rules would notice.

mod controls;
mod databases;
mod faults;
mod inject;
mod operator;
mod run;
mod server;
mod site;
mod topology;

pub use controls::controls;

use crate::scenario::Scenario;
use clap::{Args, ValueEnum};
use faults::FaultKind;
use run::Plan;
use site::Damage;
use std::fmt::Write as _;
use std::time::Duration;
use topology::Topology;

/// Which faults, and for how long.
#[derive(Args, Debug)]
pub struct DrillArgs {
    /// Where random choices begin; each drill runs once for each seed [default: a random one for
    /// drills, 1 for other scenarios]
    #[arg(long = "seed", value_name = "N")]
    seeds: Vec<u64>,
    /// For how long a drill draws faults
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    lasts: humantime::Duration,
    /// Drills have this fault alone, again and again
    #[arg(long, value_enum, value_name = "NAME")]
    fault: Option<FaultKind>,
}

impl DrillArgs {
    /// Where random choices of other scenarios begin.
    pub fn first_seed(&self) -> u64 {
        self.seeds.first().copied().unwrap_or(1)
    }

    /// A drill for each seed, on each topology that has the fault.
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
            let group = format!("drills::{}", format!("{topology:?}").to_lowercase());
            for seed in &seeds {
                let plan = Plan {
                    topology: *topology,
                    seed: *seed,
                    lasts: Duration::from(self.lasts),
                    only: self.fault,
                    damage: Damage::default(),
                    until: None,
                    repeat: self.command(&group, *seed),
                };
                let lasts = plan.lasts;
                let scenario =
                    Scenario::new(format!("{group}::seed_{seed}"), move |tools, report| {
                        Box::pin(run::drill(tools, plan.clone(), report))
                    });
                scenarios.push(scenario.drawing_for(lasts));
            }
        }
        scenarios
    }

    /// The command that repeats a seed.
    fn command(&self, group: &str, seed: u64) -> String {
        let mut command = format!("cargo xtask faults {group} --seed {seed} --for {}", self.lasts);
        if let Some(fault) = self.fault {
            // Writing to a String cannot fail.
            let _ = write!(command, " --fault {}", fault.name());
        }
        command
    }
}
