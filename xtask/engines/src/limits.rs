//! Windows, strikes and bans in Redis: each case on a server of its own.

mod agreement;
mod alone;
mod clients;
mod outages;
mod servers;
mod several;
mod speed;

use clap::ValueEnum;
use testbed::redis::InstalledRedis;
use testbed::{Program, Report};

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Random requests: every verdict and figure as in memory
    Agreement,
    /// Several servers count one account together
    Several,
    /// Three server processes, a password, and the operator's commands
    Servers,
    /// Redis suspended, killed, demoted, full, emptied
    Outages,
    /// Servers that count alone while Redis is lost
    Alone,
    /// A Redis that cannot be used
    Unsuitable,
    /// Admissions a second, bytes an account
    Speed,
}

impl Case {
    /// Runs it.
    pub async fn run(
        self,
        installed: &InstalledRedis,
        program: &Program,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        match self {
            Case::Agreement => agreement::run(installed, report).await,
            Case::Several => several::run(installed, report).await,
            Case::Servers => servers::run(installed, program, report).await,
            Case::Outages => outages::run(installed, report).await,
            Case::Alone => alone::run(installed, report).await,
            Case::Unsuitable => outages::run_unsuitable(installed, report).await,
            Case::Speed => speed::run(installed, report).await,
        }
    }
}
