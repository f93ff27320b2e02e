//! A synchronous standby that is suspended, and a wait for it that is cancelled: then COMMIT
//! succeeds with a warning only, which the settings of the role would hide, and no 204 may come of
//! it. The standby is promoted, and has every order that was acknowledged.

use super::setup::{OnPair, expect_agreement, start_replicas};
use crate::replicas::bases;
use crate::scenario::Tools;
use history::{Clients, Journal};
use std::time::Duration;
use testbed::postgres::{DATABASE, USER};
use testbed::{Report, Signal};
use tokio::task::block_in_place;

const ORDERS: usize = 4_000;

/// After this time, in nanoseconds, no answer to a commit that was confirmed before is on its
/// way any more.
const UNDER_WAY: u64 = 1_000_000_000;

/// Settings of a role with which a cancelled wait would not be told, or no session would last.
const HOSTILE: [&str; 5] = [
    "client_min_messages = error",
    "synchronous_commit = off",
    "default_transaction_isolation = serializable",
    "idle_session_timeout = '300ms'",
    "statement_timeout = '1ms'",
];

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, primary, standby, link: _link, store, key, .. } =
        OnPair::start(tools, i64::try_from(ORDERS)?, 0).await?;
    let admin = primary.admin("postgres").await?;
    for setting in HOSTILE {
        let set = format!("ALTER ROLE {USER} IN DATABASE {DATABASE} SET {setting}");
        admin.batch_execute(&set).await?;
    }
    let replicas = start_replicas(&store, 2).await?;
    let traffic = Clients::new(bases(&replicas), &key, ORDERS).start(Journal::new(None))?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    standby.signal_all(Signal::STOP)?;
    let suspended = traffic.workload.journal.now();
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                  WHERE application_name LIKE 'store-orders%' AND wait_event = 'SyncRep'";
    let mut cancelled = 0;
    for _ in 0..40 {
        cancelled += admin.query(cancel, &[]).await?.len();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    report.expect_unless_stalled(cancelled > 0, || {
        "no wait for the standby was cancelled".to_string()
    });
    primary.kill()?;
    standby.signal_all(Signal::CONT)?;
    standby.promote().await?;
    let promoted = traffic.workload.journal.now();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let seen = traffic.stop().await?;
    // A commit that was under way may have been confirmed just before.
    let late = |at: &u64| *at > suspended + UNDER_WAY && *at < promoted;
    let between = seen.figures().acknowledged.into_iter().filter(late).count();
    report.expect(between == 0, || {
        format!("{between} cancellations were acknowledged that no standby has")
    });
    report.figure(format!("{cancelled} waits for the standby were cancelled"));
    let agreed = expect_agreement(&replicas, &key, report).await;
    let ended = block_in_place(|| seen.end(&store.operator(&store.url)));
    seen.judge(report);
    agreed.and(ended)
}
