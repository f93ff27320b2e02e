//! The first host of the URL is suspended, or a primary that was fenced as read-only; the second
//! was promoted. Servers and commands find it, those that run already too.

use super::setup::{OnPair, expect_agreement};
use crate::replicas::blocking;
use crate::scenario::Tools;
use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::postgres::Postgres;
use testbed::{Report, Signal};

/// Half a second for the first host, and time for a process to start.
const STARTED_WITHIN: Duration = Duration::from_secs(3);

/// How soon a running server has found the other host.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// The first host is suspended: our own attempts have limits, unlike those of the client library.
pub async fn run_suspended(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let on = OnPair::start(tools, 10, 0).await?;
    on.primary.signal_all(Signal::STOP)?;
    on.standby.promote().await?;
    let began = Instant::now();
    let replica = on.store.replica("new", &on.store.url, &[]).await?;
    replica.ready(STARTED_WITHIN).await.context("while the first host is suspended")?;
    report.time("a server started and ready", began.elapsed(), STARTED_WITHIN);
    on.primary.signal_all(Signal::CONT)
}

/// The first host is fenced by a setting alone.
pub async fn run_read_only(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, primary, standby, link: _link, store, key, mut replicas } =
        OnPair::start(tools, 10, 1).await?;
    standby.promote().await?;
    // Its commits wait for no standby.
    primary.set("synchronous_standby_names", "").await?;
    let fenced = Instant::now();
    primary.set("default_transaction_read_only", "on").await?;
    let operator = store.operator(&store.url);
    blocking(move || operator.import_pending(11..=12)).await?;
    replicas.push(store.replica("new", &store.url, &[]).await?);
    expect_agreement(&replicas, &key, report).await?;
    report.time("all servers at the other host", fenced.elapsed(), 2 * FOUND_WITHIN);
    // What is said where there is no other one.
    let operator = store.operator(&Postgres::url_at(primary.port));
    let refusal = blocking(move || operator.import_pending(13..=13)).await.err();
    let refusal = refusal.map(|error| format!("{error:#}")).unwrap_or_default();
    report.expect(refusal.contains("read-only") && !refusal.contains("standby"), || {
        format!("a command at the fenced host alone: {refusal:?}")
    });
    Ok(())
}
