//! A REPEATABLE READ transaction stays open, as that of a running `pg_dump`, while orders are
//! cancelled: nothing may become slower by it.

use super::setup::replicas;
use crate::replicas::{Replica, StoreUnderTest};
use anyhow::Context;
use reqwest::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, DATABASE, Installed};
use testbed::{Key, Program, Report};
use tokio::task::JoinSet;

const ORDERS: i64 = 140_000;
const CLIENTS: usize = 64;

/// Cancelled before anything is compared.
const ROUND: i64 = 10_000;

/// Cancelled while the transaction is open.
const BESIDE: i64 = 100_000;

/// Of the rate without the transaction; less is a loss beyond the spread of a shared
/// machine.
const LEAST: f64 = 0.5;

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    // A commit that waits for a disk would hide what this looks for.
    let primary = cluster.primary("primary", &[("fsync", "off")]).await?;
    let store = StoreUnderTest::create(program, &primary.url(), ORDERS).await?;
    let key = store.key("clients").await?;
    let replicas = replicas(&store, 1).await?;
    let replica = replicas.first().context("there is a replica")?;
    let next = Arc::new(AtomicI64::new(1));
    cancel(replica, &key, &next, ROUND).await?;
    let before = cancel(replica, &key, &next, ROUND).await?;
    let idle = primary.admin(DATABASE).await?;
    idle.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders")
        .await?;
    let beside = cancel(replica, &key, &next, BESIDE - 2 * ROUND).await?;
    // The better of two: the machine may have other work to do.
    let mut last: f64 = 0.0;
    for _ in 0..2 {
        last = last.max(cancel(replica, &key, &next, ROUND).await?);
    }
    idle.batch_execute("COMMIT").await?;
    report.figure(format!(
        "cancellations a second: {before:.0} before, {beside:.0} beside the open transaction, \
         {last:.0} at its end"
    ));
    report.expect(last >= LEAST * before, || {
        format!("after {BESIDE} cancellations the rate is {:.2} of that before", last / before)
    });
    Ok(())
}

/// Cancels this many orders; how many in a second.
async fn cancel(
    replica: &Replica,
    key: &Key,
    next: &Arc<AtomicI64>,
    orders: i64,
) -> anyhow::Result<f64> {
    let end = next.load(Ordering::SeqCst) + orders;
    let (began, mut clients) = (Instant::now(), JoinSet::new());
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
    Ok(orders as f64 / began.elapsed().as_secs_f64())
}
