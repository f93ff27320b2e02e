//! The primary is killed under load, and its standby promoted. With a synchronous standby
//! every acknowledged cancellation is there; with an asynchronous one some are lost, and all
//! servers agree on what is left.

use crate::replicas::{Replica, StoreUnderTest, bases};
use crate::traffic::{LOAD, Traffic};
use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, Installed, Pair, Postgres};
use testbed::relay::Fault;
use testbed::{Key, Program, Report};

/// As many as the clients do not exhaust.
const ORDERS: i64 = 4_000;
const REPLICAS: usize = 3;

/// How soon after the promotion a cancellation is acknowledged again.
const RECOVERY: Duration = Duration::from_secs(5);

/// How soon lists agree and every server is ready after the last fault.
const AGREEMENT: Duration = Duration::from_secs(2);

/// A URL that names two hosts.
pub fn url_of(ports: [u16; 2]) -> String {
    let [first, second] = ports;
    Postgres::url_at(first).replace(&format!(":{first}/"), &format!(":{first},127.0.0.1:{second}/"))
}

/// Starts servers that know both hosts, and waits until they are ready.
pub async fn replicas(store: &StoreUnderTest, count: usize) -> anyhow::Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for number in 0..count {
        let replica = store.replica(&format!("replica-{number}"), &store.url, &[]).await?;
        replica.ready(RECOVERY).await?;
        replicas.push(replica);
    }
    Ok(replicas)
}

/// Holds the lists of all servers against each other.
pub async fn expect_agreement(
    replicas: &[Replica],
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    for replica in replicas {
        let waited = replica.ready(RECOVERY).await;
        report.expect(waited.is_ok(), || {
            format!("{:#}", waited.err().unwrap_or_else(|| anyhow::anyhow!("ready")))
        });
    }
    report.time("every server ready", began.elapsed(), RECOVERY);
    let began = Instant::now();
    loop {
        let mut lists = Vec::new();
        for replica in replicas {
            lists.push(replica.list(key).await.ok());
        }
        let agree = lists.windows(2).all(|pair| pair.first() == pair.last());
        if agree && lists.iter().all(Option::is_some) {
            report.time("lists agree", began.elapsed(), AGREEMENT);
            return Ok(());
        }
        if began.elapsed() > 5 * AGREEMENT {
            report.expect(false, || "the servers' lists differ".to_string());
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// With a synchronous standby.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let Pair { primary, standby, link: _link } = cluster.pair().await?;
    let url = url_of([primary.port, standby.port]);
    let store = StoreUnderTest::create(program, &url, ORDERS).await?;
    let key = store.key("clients").await?;
    let replicas = replicas(&store, REPLICAS).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD);
    tokio::time::sleep(Duration::from_secs(2)).await;
    primary.kill()?;
    standby.promote().await?;
    let promoted = traffic.now();
    tokio::time::sleep(RECOVERY + Duration::from_secs(1)).await;
    let seen = traffic.stop().await?;
    let outage = seen.outage_after(promoted).context("no cancellation after the promotion")?;
    report.time("first 204 after the promotion", outage, RECOVERY);
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &url, report).await
}

/// With an asynchronous standby that lacks the last second.
pub async fn run_asynchronous(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let Pair { primary, standby, link } = cluster.pair().await?;
    let url = url_of([primary.port, standby.port]);
    let store = StoreUnderTest::create(program, &url, ORDERS).await?;
    let key = store.key("clients").await?;
    primary.set("synchronous_standby_names", "").await?;
    let replicas = replicas(&store, REPLICAS).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD);
    tokio::time::sleep(Duration::from_secs(2)).await;
    // What is sent from now on never arrives.
    link.set(Fault::Silent);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let seen = traffic.stop().await?;
    let before = seen.acknowledged.len();
    primary.kill()?;
    link.set(Fault::Reset);
    standby.promote().await?;
    // Versions are used again by now, for other orders.
    let after = Traffic::start(bases(&replicas), &key, ORDERS, LOAD);
    tokio::time::sleep(RECOVERY).await;
    let after = after.stop().await?;
    report.expect(!after.acknowledged.is_empty(), || "nothing is cancelled again".to_string());
    expect_agreement(&replicas, &key, report).await?;
    let first = replicas.first().context("there are replicas")?;
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&first.list(&key).await?)?;
    let operator = store.operator(&url);
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
    let lost = (before + after.acknowledged.len()).saturating_sub(kept);
    report.expect(lost > 0, || "the failover lost nothing, so nothing was shown".to_string());
    report.figure(format!("the failover lost {lost} of {before} acknowledged cancellations"));
    Ok(())
}
