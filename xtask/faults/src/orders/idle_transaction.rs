//! A REPEATABLE READ transaction stays open, as that of a running `pg_dump`, while orders are
//! cancelled: no statement may have more to read because of it.

use super::setup::replicas;
use crate::replicas::{Replica, StoreUnderTest};
use anyhow::Context;
use reqwest::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use testbed::postgres::{Cluster, DATABASE, Installed};
use testbed::{Key, Program, Report};
use tokio::task::JoinSet;

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
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    // A commit need not wait for a disk here.
    let settings = [("fsync", "off"), ("shared_preload_libraries", "pg_stat_statements")];
    let primary = cluster.primary("primary", &settings).await?;
    let statistics = primary.admin("postgres").await?;
    statistics.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
    let store = StoreUnderTest::create(program, &primary.url(), ORDERS).await?;
    let key = store.key("clients").await?;
    let replicas = replicas(&store, 1).await?;
    let replica = replicas.first().context("there is a replica")?;
    let next = Arc::new(AtomicI64::new(1));
    let pages_of_round = async || -> anyhow::Result<f64> {
        statistics.batch_execute("SELECT pg_stat_statements_reset()").await?;
        cancel(replica, &key, &next, ROUND).await?;
        let pages: f64 = statistics.query_one(PAGES, &[&DATABASE]).await?.try_get(0)?;
        Ok(pages / ROUND as f64)
    };
    cancel(replica, &key, &next, ROUND).await?;
    let before = pages_of_round().await?;
    let idle = primary.admin(DATABASE).await?;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders")
        .await?;
    cancel(replica, &key, &next, CANCELLED).await?;
    let last = pages_of_round().await?;
    idle.batch_execute("COMMIT").await?;
    report.figure(format!(
        "pages read for a cancellation: {before:.0} before the transaction, {last:.0} at its end"
    ));
    report.expect(last <= MOST * before, || {
        format!("after {CANCELLED} cancellations one reads {:.1} times the pages", last / before)
    });
    Ok(())
}

/// Cancels this many orders.
async fn cancel(
    replica: &Replica,
    key: &Key,
    next: &Arc<AtomicI64>,
    orders: i64,
) -> anyhow::Result<()> {
    let end = next.load(Ordering::SeqCst) + orders;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (next, key) = (Arc::clone(next), key.text.clone());
        let url = format!("{}/store/orders", replica.server.base_url());
        clients.spawn(async move {
            let http = Client::builder().timeout(Duration::from_secs(20)).build()?;
            loop {
                let id = next.fetch_add(1, Ordering::SeqCst);
                if id >= end {
                    return anyhow::Ok(());
                }
                let answer = http.delete(format!("{url}/{id}")).bearer_auth(&key).send().await?;
                anyhow::ensure!(answer.status() == 204, "order {id}: {}", answer.status());
            }
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    // Each client has taken one of the next round's.
    next.store(end, Ordering::SeqCst);
    Ok(())
}
