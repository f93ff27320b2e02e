//! The required synchronous standby is stopped, then suspended, while servers are started
//! repeatedly. Servers must name the missing standby in their errors, and leave no connections that
//! wait for it. Also checks that servers warn at start if not every listed standby must confirm
//! commits.

use super::setup::{OnPair, expect_agreement};
use crate::replicas::{Replica, StoreUnderTest, blocking};
use crate::scenario::Tools;
use std::time::{Duration, Instant};
use testbed::postgres::Postgres;
use testbed::{Report, Signal, wait_for};

/// The number of attempts to start a server.
const STARTS: usize = 5;

/// Time within which a running server reports the missing standby.
const REPORT_TIMEOUT: Duration = Duration::from_secs(6);

/// The server's warning about unused standbys.
const WARNING: &str = "not every synchronous standby confirms commits";

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { cluster, primary, standby, link, store, key, replicas: mut servers } =
        OnPair::start(tools, 10, 1).await?;
    for (names, warns) in [("ANY 1 (standby, other)", true), ("standby", false)] {
        primary.set("synchronous_standby_names", names).await?;
        let server = store.replica(&format!("warns-{warns}"), &store.url, &[]).await?;
        server.ready(REPORT_TIMEOUT).await?;
        server.server.signal(Signal::TERM)?;
        let (_, log) = blocking(move || server.server.wait()).await?;
        report.expect(log.contains(WARNING) == warns, || format!("{names}: {log}"));
    }

    standby.kill()?;
    expect_unready(&servers, &store, &primary, "away: standby", report).await?;
    let upstream = testbed::postgres::Cluster::upstream(link.port);
    let standby = cluster.start("standby", &[("primary_conninfo", &upstream)]).await?;
    primary.wait_for_standby().await?;
    expect_agreement(&servers, &key, report).await?;
    standby.signal_all(Signal::STOP)?;
    expect_unready(&servers, &store, &primary, "confirm no commit: standby", report).await?;
    standby.signal_all(Signal::CONT)?;
    servers.push(store.replica("later", &store.url, &[]).await?);
    expect_agreement(&servers, &key, report).await
}

/// Checks that running servers are unready for this reason, that new servers fail to start for the
/// same reason, and that starts leave no connections that wait for the standby.
async fn expect_unready(
    servers: &[Replica],
    store: &StoreUnderTest,
    primary: &Postgres,
    reason: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    expect_reason(servers, reason, report).await;
    for server in servers {
        let metrics = server.metrics().await?;
        for sample in [
            "store_orders_unready{reason=\"standby_away\"} 1",
            "store_orders_standbys_required 1",
            "store_orders_standbys_confirming 0",
        ] {
            report.expect_unless_stalled(metrics.lines().any(|line| line == sample), || {
                format!("{reason}: the metrics lack {sample:?}")
            });
        }
    }
    let before = backends_waiting(primary).await?;
    for number in 0..STARTS {
        let started = store.replica(&format!("start-{number}"), &store.url, &[]).await;
        let message = started.err().map(|error| format!("{error:#}")).unwrap_or_default();
        report.expect(!message.is_empty(), || format!("start {number} succeeded: {reason}"));
        report.expect_unless_stalled(message.contains(reason), || {
            format!("start {number}: {message:?}")
        });
    }
    let now = backends_waiting(primary).await?;
    // The running server's own connections may wait if they were committing when the standby
    // stopped. At most 4 of the 5 can wait, because request counts are committed without the
    // standby. The starts must add none.
    report.expect_unless_stalled(before <= 4 && now == before, || {
        format!("{reason}: {now} connections wait for it, {before} before the starts")
    });
    Ok(())
}

/// Checks that running servers are unready for this reason.
async fn expect_reason(servers: &[Replica], reason: &str, report: &mut Report) {
    let began = Instant::now();
    for server in servers {
        let is_reported = async || server.unready_because().await?.contains(reason).then_some(());
        let waited = wait_for(reason, 2 * REPORT_TIMEOUT, is_reported).await;
        report.expect_unless_stalled(waited.is_ok(), || format!("/readyz does not say {reason:?}"));
    }
    report.time(format!("/readyz says {reason:?}"), began.elapsed(), REPORT_TIMEOUT);
}

async fn backends_waiting(primary: &Postgres) -> anyhow::Result<i64> {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    Ok(primary.admin("postgres").await?.query_one(query, &[]).await?.try_get(0)?)
}
