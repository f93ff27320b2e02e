//! Orders, accounts and keys in PostgreSQL: each case on servers of its own.

mod absent_standby;
mod clock_ahead;
mod conformance_suite;
mod ended_sessions;
mod failover;
mod fresh_keys;
mod full_disk;
mod held_locks;
mod idle_transaction;
mod long_import;
mod many_keys;
mod mistakes;
mod network;
mod old_primary;
mod read_only_host;
mod replicas_agree;
mod reset_session;
mod revocation;
mod same_order;
mod same_timeline;
mod schema_change;
mod setup;
mod slow_reads;
mod slow_standby;
mod stopped_host;
mod stopped_primary;
mod suspended_command;
mod tls;
mod wraparound;

use clap::ValueEnum;
use testbed::postgres::Installed;
use testbed::{Program, Report};

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// What every engine of the store must do
    Conformance,
    /// Three servers on one database, an operator beside
    Replicas,
    /// One order cancelled 64 times at once
    SameOrder,
    /// kill -9 of the primary under load, its synchronous standby promoted
    Failover,
    /// A primary that is suspended, replaced, and goes on
    OldPrimary,
    /// A primary that is suspended for seconds
    StoppedPrimary,
    /// A suspended host before the primary in the URL
    StoppedHost,
    /// A standby that confirms nothing, and a wait for it that is cancelled
    SlowStandby,
    /// The same for a role with hostile settings
    HostileRole,
    /// A session to a promoted primary that is reset within its first second
    ResetSession,
    /// Servers that are started while the synchronous standby is away
    AbsentStandby,
    /// Transaction ids near their wraparound
    Wraparound,
    /// A promoted standby that lacks the last second
    LostHistory,
    /// Two standbys promoted to one timeline, one after the other
    Fork,
    /// The data directory replaced by an earlier copy of itself
    RestoredInPlace,
    /// An import of millions that is not committed, and its roll-back
    LongImport,
    /// Single keys changed among a million
    ManyKeys,
    /// Keys used as soon as they were issued, beside a flood of unknown ones
    FreshKeys,
    /// A promoted primary whose clock is ahead, and set back later
    ClockAhead,
    /// A key revoked while a server has lost the database
    Revocation,
    /// The schema changed while servers run
    SchemaChange,
    /// Connections of an idle server that end
    EndedSessions,
    /// A transaction that holds a lock for longer than cancellations wait
    HeldLocks,
    /// A command that is suspended while it holds a lock
    SuspendedCommand,
    /// A count of orders and a reading of keys that take long
    SlowReads,
    /// A fenced primary before the real one in the URL
    ReadOnlyHost,
    /// A transaction that stays open while orders are cancelled
    IdleTransaction,
    /// A database whose disk is full
    FullDisk,
    /// Wrong passwords, missing grants, other databases
    Mistakes,
    /// Connections with TLS, in every mode
    Tls,
    /// A network that delays, falls silent, swallows answers, resets, and cuts at COMMIT
    Network,
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
            Case::Conformance => conformance_suite::run(installed, report).await,
            Case::Replicas => replicas_agree::run(installed, program, report).await,
            Case::SameOrder => same_order::run(installed, program, report).await,
            Case::Failover => failover::run(installed, program, report).await,
            Case::LostHistory => failover::run_asynchronous(installed, program, report).await,
            Case::OldPrimary => old_primary::run(installed, program, report).await,
            Case::StoppedPrimary => stopped_primary::run(installed, program, report).await,
            Case::StoppedHost => stopped_host::run(installed, program, report).await,
            Case::SlowStandby => slow_standby::run(installed, program, report).await,
            Case::HostileRole => {
                slow_standby::run_as_hostile_role(installed, program, report).await
            }
            Case::ResetSession => reset_session::run(installed, program, report).await,
            Case::AbsentStandby => absent_standby::run(installed, program, report).await,
            Case::Wraparound => wraparound::run(installed, program, report).await,
            Case::Fork => same_timeline::run_fork(installed, program, report).await,
            Case::RestoredInPlace => same_timeline::run_restored(installed, program, report).await,
            Case::LongImport => long_import::run(installed, program, report).await,
            Case::ManyKeys => many_keys::run(installed, program, report).await,
            Case::FreshKeys => fresh_keys::run(installed, program, report).await,
            Case::ClockAhead => clock_ahead::run(installed, program, report).await,
            Case::Revocation => revocation::run(installed, program, report).await,
            Case::SchemaChange => schema_change::run(installed, program, report).await,
            Case::EndedSessions => ended_sessions::run(installed, program, report).await,
            Case::HeldLocks => held_locks::run(installed, program, report).await,
            Case::SuspendedCommand => suspended_command::run(installed, program, report).await,
            Case::SlowReads => slow_reads::run(installed, program, report).await,
            Case::ReadOnlyHost => read_only_host::run(installed, program, report).await,
            Case::IdleTransaction => idle_transaction::run(installed, program, report).await,
            Case::FullDisk => full_disk::run(installed, program, report).await,
            Case::Mistakes => mistakes::run(installed, program, report).await,
            Case::Tls => tls::run(installed, report).await,
            Case::Network => network::run(installed, program, report).await,
        }
    }
}
