//! The disk of the database is full. Requests that must write are answered 503 and lose nothing.
//! Accounts without a limit still get lists, and an account with an exhausted daily limit is still
//! refused. Once there is room, full service returns.

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

/// The size of the database's disk in KiB, large enough for a small cluster.
const DISK_KIB: u64 = 160 * 1024;

/// Time after which request counts are on the disk. Their commits do not wait for the disk, because
/// they are written without `synchronous_commit`.
const COUNT_FLUSH_TIME: Duration = Duration::from_secs(1);

const FULL_FOR: Duration = Duration::from_secs(4);

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
    tokio::time::sleep(COUNT_FLUSH_TIME).await;
    disk.fill(0)?;
    let admin = primary.admin(DATABASE).await?;
    // Proves that the disk is full: without free space, a new table cannot grow.
    let table_growth =
        admin.batch_execute("CREATE TABLE large AS SELECT generate_series(1, 1000000)");
    report.expect(table_growth.await.is_err(), || "the disk is not full".to_string());
    let (filled, mut admitted) = (Instant::now(), 0);
    while filled.elapsed() < FULL_FOR {
        admitted += usize::from(replica.list(&exhausted).await.is_ok());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    disk.make_room()?;
    let room_at = traffic.workload.journal.now();
    tokio::time::sleep(READY_WITHIN).await;
    admitted += usize::from(replica.list(&exhausted).await.is_ok());
    report.expect(admitted == 0, || format!("the exhausted account was admitted {admitted} times"));
    traffic.expect_recovery("room again", room_at, READY_WITHIN, report);
    let journal = traffic.stop().await?;
    let agreed = expect_agreement(&replicas, &key, report).await;
    let ended = block_in_place(|| journal.end(&store.operator(&store.url)));
    journal.report_violations(report);
    agreed.and(ended)
}
