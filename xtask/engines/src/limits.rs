//! Windows, strikes and bans in Redis: each case on a server of its own.

mod abandoned;
mod agreement;
mod alone;
mod clients;
mod events;
mod expectations;
mod footprint;
mod network;
mod outages;
mod promotion;
mod sentinel;
mod servers;
mod several;
mod slow;
mod tls;

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
    /// Redis without a file, restarted
    WithoutFile,
    /// Another Redis is promoted: with all counts, without the last ones, without any
    Promotion,
    /// Sentinel names the primary, which is killed, suspended and replaced
    Sentinel,
    /// A network that delays, is silent and loses answers
    Network,
    /// Redis that is slow and not lost: said once, as an outage
    Slow,
    /// Clients that leave before their verdict: a ban is counted and logged
    Abandoned,
    /// Which certificates are taken
    Tls,
    /// Servers that count alone while Redis is lost
    Alone,
    /// Servers that start while Redis is not there
    StartAlone,
    /// A Redis that cannot be used
    Unsuitable,
    /// Bytes of memory and of the file, and the time of a restart
    Footprint,
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
            Case::WithoutFile => outages::run_without_file(installed, report).await,
            Case::Promotion => promotion::run(installed, report).await,
            Case::Sentinel => sentinel::run(installed, report).await,
            Case::Network => network::run(installed, report).await,
            Case::Slow => slow::run(installed, report).await,
            Case::Abandoned => abandoned::run(installed, report).await,
            Case::Tls => tls::run(installed, report).await,
            Case::Alone => alone::run(installed, report).await,
            Case::StartAlone => alone::run_start(installed, report).await,
            Case::Unsuitable => outages::run_unsuitable(installed, report).await,
            Case::Footprint => footprint::run(installed, report).await,
        }
    }
}
