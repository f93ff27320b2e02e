//! Three servers on PostgreSQL, clients of all kinds, and faults drawn by a seed; what
//! the clients see is held against the rules of `tests/history` while it goes on and at the
//! end. Controls, which are damaged on purpose, prove that the rules would notice.

mod controls;
mod databases;
mod faults;
mod inject;
mod operator;
mod pool;
mod run;
mod server;
mod site;
mod workload;

pub use controls::Control;

use clap::Args;
use faults::FaultKind;
use run::Plan;
use site::{Disabled, Installation};
use std::fmt::Write as _;
use std::time::Duration;
use testbed::postgres::Installed;
use testbed::{Program, Report};

/// Which faults, and for how long.
#[derive(Args, Debug)]
pub struct DrillArgs {
    /// Where the random choices begin; several are run one after the other [default: random]
    #[arg(long = "seed", value_name = "N")]
    seeds: Vec<u64>,
    /// For how long faults are drawn, for each seed
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    lasts: humantime::Duration,
    /// This fault alone, again and again
    #[arg(long, value_enum, value_name = "NAME")]
    fault: Option<FaultKind>,
}

impl DrillArgs {
    /// The seeds to run.
    pub fn seeds(&self) -> Vec<u64> {
        match self.seeds.is_empty() {
            true => vec![fastrand::u64(..1_000_000)],
            false => self.seeds.clone(),
        }
    }

    /// The command that repeats a seed.
    pub fn command(&self, seed: u64) -> String {
        let mut command = format!("cargo xtask faults drills --seed {seed} --for {}", self.lasts);
        if let Some(fault) = self.fault {
            // Writing to a String cannot fail.
            let _ = write!(command, " --fault {}", fault.name());
        }
        command
    }

    /// Runs a seed.
    pub async fn run(
        &self,
        installation: &Installation,
        seed: u64,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let plan = Plan {
            seed,
            lasts: Duration::from(self.lasts),
            only: self.fault,
            disabled: Disabled::default(),
            until: None,
            repeat: self.command(seed),
        };
        run::run(installation, &plan, report).await.map(drop)
    }
}

/// What the drills need.
pub fn find(program: &Program) -> anyhow::Result<Installation> {
    testbed::check_compiler()?;
    Ok(Installation { postgres: Installed::find()?, program: program.clone() })
}
