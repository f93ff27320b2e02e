//! A REPEATABLE READ transaction stays open, as that of a running `pg_dump`, while orders are
//! cancelled: no statement on orders may have more to read because of it. The requests are counted
//! in the same database, where it slows down the one row of their account: each is answered.

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

/// Cancelled before anything is compared.
const ROUND: i64 = 10_000;

/// Cancelled while the transaction is open.
const CANCELLED: i64 = 100_000;

/// How many times as many pages a cancellation may read. The number of cancellations that share
/// a transaction varies with the machine; rows that nothing removes cost hundreds of times as
/// many.
const MOST: f64 = 4.0;

/// What statements on the store's database have read since the last reset, in pages. The
/// extension counts each statement as it ends, and is in another database than the store.
const PAGES: &str = "
    SELECT sum(shared_blks_hit + shared_blks_read)::float8
    FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = $1";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    // A commit need not wait for a disk here.
    let settings = [("fsync", "off"), ("shared_preload_libraries", "pg_stat_statements")];
    let on = OnPrimary::start_in(tools, cluster, &settings, ORDERS, 1).await?;
    let statistics = on.primary.admin("postgres").await?;
    statistics.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
    let replica = on.replicas.first().context("there is a replica")?;
    let pages = async |orders: Range<i64>| -> anyhow::Result<f64> {
        statistics.batch_execute("SELECT pg_stat_statements_reset()").await?;
        cancel(replica, &on.key, orders).await?;
        let pages: f64 = statistics.query_one(PAGES, &[&DATABASE]).await?.try_get(0)?;
        Ok(pages / ROUND as f64)
    };
    let (first, last) = (1 + ROUND, 1 + 2 * ROUND + CANCELLED);
    cancel(replica, &on.key, 1..first).await?;
    let before = pages(first..first + ROUND).await?;
    let idle = on.primary.admin(DATABASE).await?;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders")
        .await?;
    let slowest = cancel(replica, &on.key, first + ROUND..last).await?;
    let at_end = pages(last..last + ROUND).await?;
    idle.batch_execute("COMMIT").await?;
    report.time("slowest answer during the transaction", slowest, ANSWER_LIMIT);
    report.figure(format!(
        "pages read for a cancellation: {before:.0} before the transaction, {at_end:.0} at its end"
    ));
    report.expect_unless_stalled(at_end <= MOST * before, || {
        format!("after {CANCELLED} cancellations one reads {:.1} times the pages", at_end / before)
    });
    Ok(())
}

/// Cancels these orders, many at once; how long the slowest cancellation took.
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
