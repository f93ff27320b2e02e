//! A session to a promoted primary is reset within its first second, at low traffic: the next one
//! acknowledges nothing before that second has passed, because another server may still list from
//! the old primary.

use super::setup::{OnPair, expect_agreement, replicas};
use crate::replicas::bases;
use crate::traffic::{Load, Traffic};
use anyhow::Context;
use std::time::Duration;
use testbed::postgres::{DATABASE, Installed, Pair};
use testbed::{Program, Report};

const ORDERS: i64 = 1_000;

/// A lease of another server may last for so long after the first session was opened.
const WAIT_MS: u64 = 1_000;

/// How often the case looks for the session, and how exactly it sees when that was opened.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, pair, store, key } =
        OnPair::start(installed, program, ORDERS).await?;
    let Pair { primary, standby, link: _link } = pair;
    let replicas = replicas(&store, 1).await?;
    let load = Load { writers: 1, listers: 1 };
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, load)?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    primary.kill()?;
    standby.promote().await?;
    let promoted = traffic.now();
    // The heartbeat's connection is the last that is opened.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name LIKE 'store-orders %'
                 AND EXISTS (SELECT FROM pg_stat_activity
                             WHERE application_name = 'store-orders heartbeat'
                               AND query = 'COMMIT')";
    let admin = standby.admin(DATABASE).await?;
    let mut ended = admin.query(end, &[]).await?.len();
    while ended == 0 {
        tokio::time::sleep(LOOKS_EVERY).await;
        ended = admin.query(end, &[]).await?.len();
    }
    let opened = traffic.now();
    report.figure(format!("{ended} connections of the first session were ended"));
    tokio::time::sleep(Duration::from_secs(4)).await;
    let seen = traffic.stop().await?;
    let first = seen.acknowledged().into_iter().filter(|at| *at > promoted).min();
    let first = first.context("no cancellation after the promotion")?;
    let after_ms = first.saturating_sub(opened) / 1_000_000;
    // The session was seen later than it was opened, by a few looks at most.
    report.expect(after_ms > WAIT_MS - 200, || {
        format!("a cancellation was acknowledged {after_ms} ms after the first session opened")
    });
    report.figure(format!("first 204 {after_ms} ms after the first session was seen"));
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}
