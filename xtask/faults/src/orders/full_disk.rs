//! A database whose disk is full: what must be written is answered 503 and none of it is lost, lists
//! of accounts without a limit go on, an account whose day is used up is not admitted again, and
//! service is whole when there is room.

use super::setup::{OnPrimary, READY_WITHIN, expect_agreement};
use crate::replicas::bases;
use crate::scenario::Tools;
use anyhow::Context;
use history::{Clients, Journal};
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, DATABASE};
use testbed::{DataDir, Report, SmallDisk};
use tokio::task::block_in_place;

const ORDERS: usize = 4_000;

/// Room for a small cluster.
const DISK_KIB: u64 = 160 * 1024;

/// How soon counts are on the disk, without `synchronous_commit`.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

const FULL_FOR: Duration = Duration::from_secs(4);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let disk = SmallDisk::mount(DISK_KIB)?;
    let cluster = Cluster::create_in(&tools.postgres()?, disk.path())?;
    let small = [("max_wal_size", "32MB"), ("min_wal_size", "32MB"), ("wal_recycle", "off")];
    let OnPrimary { cluster: _cluster, primary, store, key, replicas } =
        OnPrimary::start_in(tools, cluster, &small, i64::try_from(ORDERS)?, 2).await?;
    let issue = |operator: &DataDir| operator.issue_enterprise_key("small", 1_000, 5);
    let exhausted = store.operate(issue).await?;
    let replica = replicas.first().context("there are replicas")?;
    for _ in 0..5 {
        replica.list(&exhausted).await?;
    }
    let traffic = Clients::new(bases(&replicas), &key, ORDERS).start(Journal::new(None))?;
    tokio::time::sleep(WRITTEN_WITHIN).await;
    disk.fill(0)?;
    let admin = primary.admin(DATABASE).await?;
    // A file of its own can no longer be made larger.
    let grown = admin.batch_execute("CREATE TABLE large AS SELECT generate_series(1, 1000000)");
    report.expect(grown.await.is_err(), || "the disk is not full".to_string());
    let (filled, mut admitted) = (Instant::now(), 0);
    while filled.elapsed() < FULL_FOR {
        admitted += usize::from(replica.list(&exhausted).await.is_ok());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    disk.make_room()?;
    let room = traffic.workload.journal.now();
    tokio::time::sleep(READY_WITHIN).await;
    admitted += usize::from(replica.list(&exhausted).await.is_ok());
    report.expect(admitted == 0, || format!("the exhausted account was admitted {admitted} times"));
    traffic.expect_recovery("room again", room, READY_WITHIN, report);
    let seen = traffic.stop().await?;
    let agreed = expect_agreement(&replicas, &key, report).await;
    let ended = block_in_place(|| seen.end(&store.operator(&store.url)));
    seen.judge(report);
    agreed.and(ended)
}
