//! A primary that is suspended for seconds: every request is answered within its deadline,
//! and service is whole when it goes on.

use super::setup::{OnPrimary, expect_agreement, replicas};
use crate::replicas::bases;
use crate::traffic::{LOAD, Traffic};
use anyhow::Context;
use std::time::Duration;
use testbed::postgres::Installed;
use testbed::{Program, Report, Signal};

const ORDERS: i64 = 4_000;

/// Longer than any deadline.
const SUSPENDED: Duration = Duration::from_secs(8);

/// How soon a cancellation is acknowledged again.
const RECOVERY: Duration = Duration::from_secs(5);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key } =
        OnPrimary::start(installed, program, ORDERS).await?;
    let replicas = replicas(&store, 2).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    primary.signal_all(Signal::STOP)?;
    tokio::time::sleep(SUSPENDED / 2).await;
    for replica in &replicas {
        let unready = replica.unready_because().await;
        report.expect(unready.is_some(), || "a server without its store is ready".to_string());
    }
    tokio::time::sleep(SUSPENDED / 2).await;
    primary.signal_all(Signal::CONT)?;
    let continued = traffic.now();
    tokio::time::sleep(RECOVERY).await;
    let seen = traffic.stop().await?;
    let outage = seen.outage_after(continued).context("no cancellation afterwards")?;
    report.time("first 204 after it went on", outage, RECOVERY);
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}
