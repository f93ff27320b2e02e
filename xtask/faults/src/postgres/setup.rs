//! For most scenarios, sets up the database servers, the store with a key, and the replicas. At the
//! end, checks that all replicas agree.

use crate::replicas::{Replica, StoreUnderTest};
use crate::scenario::Tools;
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, Postgres};
use testbed::{Key, Report, wait_for};

/// Time within which a server must be ready after its start, or after the end of a fault.
pub const READY_WITHIN: Duration = Duration::from_secs(5);

/// Time within which the servers must list the same orders once all are ready.
const AGREEMENT_TIMEOUT: Duration = Duration::from_secs(2);

/// A store on a primary without a standby.
pub struct OnPrimary {
    pub cluster: Cluster,
    pub primary: Postgres,
    pub store: StoreUnderTest,
    /// A key whose limits no scenario reaches.
    pub key: Key,
    /// The running replicas, which were all ready when the scenario began.
    pub replicas: Vec<Replica>,
}

impl OnPrimary {
    /// Creates a store with pending orders 1 to `orders`, and starts `replicas` replicas.
    pub async fn start(tools: &Tools, orders: i64, replicas: usize) -> anyhow::Result<OnPrimary> {
        let cluster = Cluster::create(&tools.postgres()?)?;
        OnPrimary::start_in(tools, cluster, &[], orders, replicas).await
    }

    pub async fn start_in(
        tools: &Tools,
        cluster: Cluster,
        settings: &[(&str, &str)],
        orders: i64,
        replicas: usize,
    ) -> anyhow::Result<OnPrimary> {
        let primary = cluster.primary("primary", settings).await?;
        let store = StoreUnderTest::create(&tools.program, &primary.url(), orders).await?;
        let key = store.key("clients").await?;
        let replicas = start_replicas(&store, replicas).await?;
        Ok(OnPrimary { cluster, primary, store, key, replicas })
    }
}

pub async fn start_replicas(store: &StoreUnderTest, count: usize) -> anyhow::Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for number in 0..count {
        let replica = store.replica(&format!("replica-{number}"), &store.url, &[]).await?;
        replica.ready(READY_WITHIN).await?;
        replicas.push(replica);
    }
    Ok(replicas)
}

/// Checks that all servers are ready and list the same orders.
pub async fn expect_agreement(
    replicas: &[Replica],
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    for replica in replicas {
        if let Err(error) = replica.ready(READY_WITHIN).await {
            report.expect_unless_stalled(false, || format!("{error:#}"));
        }
    }
    report.time("every server ready", began.elapsed(), READY_WITHIN);
    let (began, mut differ) = (Instant::now(), false);
    let agree = async || {
        let mut lists = Vec::new();
        differ = false;
        for replica in replicas {
            lists.push(replica.list(key).await.ok()?);
        }
        differ = lists.windows(2).any(|pair| pair.first() != pair.last());
        (!differ).then_some(())
    };
    let waited = wait_for("lists agree", 5 * AGREEMENT_TIMEOUT, agree).await;
    report.expect(!differ, || "the servers' lists differ".to_string());
    report.expect_unless_stalled(waited.is_ok() || differ, || "a server lists nothing".to_string());
    report.time("lists agree", began.elapsed(), AGREEMENT_TIMEOUT);
    Ok(())
}
