//! The primary is killed under load, and its standby promoted. With a synchronous standby
//! every acknowledged cancellation is there; with an asynchronous one some are lost, and all
//! servers agree on what is left.

use super::setup::{OnPair, expect_agreement, replicas};
use crate::replicas::bases;
use crate::traffic::{LOAD, Traffic};
use anyhow::Context;
use std::time::Duration;
use testbed::postgres::{Installed, Pair};
use testbed::relay::Fault;
use testbed::{Program, Report};

/// As many as the clients do not exhaust.
const ORDERS: i64 = 4_000;
const REPLICAS: usize = 3;

/// How soon after the promotion a cancellation is acknowledged again.
const RECOVERY: Duration = Duration::from_secs(5);

/// With a synchronous standby.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, pair, store, key } =
        OnPair::start(installed, program, ORDERS).await?;
    let Pair { primary, standby, link: _link } = pair;
    let replicas = replicas(&store, REPLICAS).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    primary.kill()?;
    standby.promote().await?;
    let promoted = traffic.now();
    tokio::time::sleep(RECOVERY + Duration::from_secs(1)).await;
    let seen = traffic.stop().await?;
    let outage = seen.outage_after(promoted).context("no cancellation after the promotion")?;
    report.time("first 204 after the promotion", outage, RECOVERY);
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}

/// With an asynchronous standby that lacks the last second.
pub async fn run_asynchronous(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, pair, store, key } =
        OnPair::start(installed, program, ORDERS).await?;
    let Pair { primary, standby, link } = pair;
    primary.set("synchronous_standby_names", "").await?;
    let replicas = replicas(&store, REPLICAS).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    // What is sent from now on never arrives.
    link.set(Fault::Silent);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let seen = traffic.stop().await?;
    let before = seen.acknowledged().len();
    primary.kill()?;
    link.set(Fault::Reset);
    standby.promote().await?;
    // Versions are used again by now, for other orders.
    let after = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    tokio::time::sleep(RECOVERY).await;
    let after = after.stop().await?;
    report.expect(!after.acknowledged().is_empty(), || "nothing is cancelled again".to_string());
    expect_agreement(&replicas, &key, report).await?;
    let first = replicas.first().context("there are replicas")?;
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&first.list(&key).await?)?;
    let operator = store.operator(&store.url);
    let rows = crate::replicas::blocking(move || {
        operator.run_json(&["orders", "list", "--status", "pending"])
    })
    .await?;
    let pending = rows.as_array().map_or(0, Vec::len);
    report.expect(listed.len() == pending, || {
        format!("the lists show {} orders, the store has {pending} pending", listed.len())
    });
    let usize_orders = usize::try_from(ORDERS)?;
    let kept = usize_orders - pending;
    let lost = (before + after.acknowledged().len()).saturating_sub(kept);
    report.expect(lost > 0, || "the failover lost nothing, so nothing was shown".to_string());
    report.figure(format!("the failover lost {lost} of {before} acknowledged cancellations"));
    Ok(())
}
