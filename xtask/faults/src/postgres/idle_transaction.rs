//! Cancels orders while a REPEATABLE READ transaction stays open in the store's database, as during
//! a `pg_dump`. Each response must arrive within [`ANSWER_LIMIT`]. Dead rows must not slow
//! cancellations down: page reads per cancellation may grow at most by the factor
//! [`MAX_PAGE_RATIO`].

use super::setup::OnPrimary;
use crate::replicas::Replica;
use crate::scenario::Tools;
use anyhow::Context;
use futures::{StreamExt, TryStreamExt, future, stream};
use history::ANSWER_LIMIT;
use std::ops::Range;
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, DATABASE};
use testbed::{Key, Report};

const ORDERS: i64 = 140_000;
const CLIENTS: usize = 64;

/// The number of orders that are cancelled before the first measurement, and in each measurement.
const ROUND: i64 = 10_000;

/// The number of orders cancelled after the transaction has begun and before the second
/// measurement.
const CANCELLED: i64 = 100_000;

/// The maximum factor by which PostgreSQL's page reads per cancellation may grow during the
/// transaction. A factor above 1 is normal, because the size of batches varies. Dead rows that are
/// not removed would cause a factor of hundreds.
const MAX_PAGE_RATIO: f64 = 4.0;

/// Selects the number of pages read in the store's database since the last
/// `pg_stat_statements_reset`. The query runs in another database, so its own pages are not
/// included.
const PAGES: &str = "
    SELECT sum(shared_blks_hit + shared_blks_read)::float8
    FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = $1";

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let settings = [("fsync", "off"), ("shared_preload_libraries", "pg_stat_statements")];
    let setup = OnPrimary::start_in(tools, cluster, &settings, ORDERS, 1).await?;
    let statistics = setup.primary.admin("postgres").await?;
    statistics.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
    let replica = setup.replicas.first().context("there is a replica")?;
    let pages = async |orders: Range<i64>| -> anyhow::Result<f64> {
        statistics.batch_execute("SELECT pg_stat_statements_reset()").await?;
        cancel(replica, &setup.key, orders).await?;
        let pages: f64 = statistics.query_one(PAGES, &[&DATABASE]).await?.try_get(0)?;
        Ok(pages / ROUND as f64)
    };
    let (first, last) = (1 + ROUND, 1 + 2 * ROUND + CANCELLED);
    cancel(replica, &setup.key, 1..first).await?;
    let before = pages(first..first + ROUND).await?;
    let idle = setup.primary.admin(DATABASE).await?;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders")
        .await?;
    let slowest = cancel(replica, &setup.key, first + ROUND..last).await?;
    let at_end = pages(last..last + ROUND).await?;
    idle.batch_execute("COMMIT").await?;
    report.time("slowest answer during the transaction", slowest, ANSWER_LIMIT);
    report.figure(format!(
        "pages read for a cancellation: {before:.0} before the transaction, {at_end:.0} at its end"
    ));
    report.expect_unless_stalled(at_end <= MAX_PAGE_RATIO * before, || {
        format!("after {CANCELLED} cancellations one reads {:.1} times the pages", at_end / before)
    });
    Ok(())
}

async fn cancel(replica: &Replica, key: &Key, orders: Range<i64>) -> anyhow::Result<Duration> {
    let cancels = stream::iter(orders).map(async |order| {
        let began = Instant::now();
        let status = replica.cancel(key, order).await?;
        anyhow::ensure!(status == 204, "order {order}: {status}");
        Ok(began.elapsed())
    });
    let slowest = |slowest: Duration, took| future::ok(slowest.max(took));
    cancels.buffer_unordered(CLIENTS).try_fold(Duration::ZERO, slowest).await
}
