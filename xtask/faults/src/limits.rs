//! Windows, strikes and bans in PostgreSQL: each case on servers of its own.

mod agreement;
mod clients;
mod outages;
mod servers;
mod several;
mod snapshot;

use clap::ValueEnum;
use testbed::postgres::Installed;
use testbed::{Program, Report};

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Random requests: every decision and figure as in memory
    Agreement,
    /// Several limiters count one account together
    Several,
    /// Three server processes, and the operator's commands
    Servers,
    /// Tables locked, PostgreSQL suspended, a network that is silent and loses answers
    Outages,
    /// A standby is promoted: windows and bans are kept
    Promotion,
    /// A full disk
    FullDisk,
    /// A suspended server holds no lock
    Suspended,
    /// A long snapshot, with and without a database for the counts
    Snapshot,
}

impl Case {
    /// Runs it.
    pub async fn run(
        self,
        installed: &Installed,
        program: &Program,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        match self {
            Case::Agreement => agreement::run(installed, report).await,
            Case::Several => several::run(installed, report).await,
            Case::Servers => servers::run(installed, program, report).await,
            Case::Outages => outages::run(installed, report).await,
            Case::Promotion => outages::run_promotion(installed, report).await,
            Case::FullDisk => outages::run_full_disk(installed, report).await,
            Case::Suspended => outages::run_suspended(installed, program, report).await,
            Case::Snapshot => snapshot::run(installed, report).await,
        }
    }
}
