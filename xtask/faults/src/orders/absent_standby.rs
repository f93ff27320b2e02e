//! The demanded synchronous standby is away, then suspended, while servers are started again and
//! again: they say which one it is, and leave no connections that wait for it. Also what a
//! server says at its start of standbys of which not all have to confirm.

use super::setup::{OnPair, expect_agreement};
use crate::replicas::{Replica, StoreUnderTest, blocking};
use crate::scenario::Tools;
use std::time::{Duration, Instant};
use testbed::postgres::Postgres;
use testbed::{Report, Signal, wait_for};

/// How often a server is started.
const STARTS: usize = 5;

/// How soon a running server says what is away.
const SAID_WITHIN: Duration = Duration::from_secs(6);

/// What a server warns of.
const WARNING: &str = "not every synchronous standby confirms commits";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { cluster, primary, standby, link, store, key, replicas: mut servers } =
        OnPair::start(tools, 10, 1).await?;
    for (names, warns) in [("ANY 1 (standby, other)", true), ("standby", false)] {
        primary.set("synchronous_standby_names", names).await?;
        let server = store.replica(&format!("warns-{warns}"), &store.url, &[]).await?;
        server.ready(SAID_WITHIN).await?;
        server.server.signal(Signal::TERM)?;
        let (_, log) = blocking(move || server.server.wait()).await?;
        report.expect(log.contains(WARNING) == warns, || format!("{names}: {log}"));
    }

    standby.kill()?;
    expect_none_waits(&servers, &store, &primary, "away: standby", report).await?;
    let upstream = testbed::postgres::Cluster::upstream(link.port);
    let standby = cluster.start("standby", &[("primary_conninfo", &upstream)]).await?;
    primary.wait_for_standby().await?;
    expect_agreement(&servers, &key, report).await?;
    standby.signal_all(Signal::STOP)?;
    expect_none_waits(&servers, &store, &primary, "confirm no commit: standby", report).await?;
    standby.signal_all(Signal::CONT)?;
    servers.push(store.replica("later", &store.url, &[]).await?);
    expect_agreement(&servers, &key, report).await
}

/// Running servers are not ready for this reason, and those that are started refuse with it. None of
/// their connections waits for the standby.
async fn expect_none_waits(
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
        let said = started.err().map(|error| format!("{error:#}")).unwrap_or_default();
        report.expect(!said.is_empty(), || format!("start {number} succeeded: {reason}"));
        report.expect_unless_stalled(said.contains(reason), || format!("start {number}: {said:?}"));
    }
    let now = backends_waiting(primary).await?;
    // A session that was cut off leaves at most those that were committing then.
    report.expect_unless_stalled(before <= 4 && now == before, || {
        format!("{reason}: {now} connections wait for it, {before} before the starts")
    });
    Ok(())
}

/// A running server is not ready, for this reason.
async fn expect_reason(servers: &[Replica], reason: &str, report: &mut Report) {
    let began = Instant::now();
    for server in servers {
        let is_said = async || server.unready_because().await?.contains(reason).then_some(());
        let waited = wait_for(reason, 2 * SAID_WITHIN, is_said).await;
        report.expect_unless_stalled(waited.is_ok(), || format!("/readyz does not say {reason:?}"));
    }
    report.time(format!("/readyz says {reason:?}"), began.elapsed(), SAID_WITHIN);
}

async fn backends_waiting(primary: &Postgres) -> anyhow::Result<i64> {
    let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    Ok(primary.admin("postgres").await?.query_one(query, &[]).await?.try_get(0)?)
}
