//! A database whose disk is full: cancellations are answered 503 and none is lost, lists go
//! on, and service is whole when there is room.

use super::setup::{expect_agreement, replicas};
use crate::replicas::{StoreUnderTest, bases};
use crate::traffic::{LOAD, Traffic};
use anyhow::Context;
use std::time::Duration;
use testbed::postgres::{Cluster, Installed};
use testbed::{Program, Report, SmallDisk};

const ORDERS: i64 = 4_000;

/// Room for a small cluster.
const DISK_KIB: u64 = 160 * 1024;

/// How soon a cancellation is acknowledged when there is room again.
const RECOVERY: Duration = Duration::from_secs(5);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let disk = SmallDisk::mount(DISK_KIB)?;
    let cluster = Cluster::create_in(installed, disk.path())?;
    let small = [("max_wal_size", "32MB"), ("min_wal_size", "32MB"), ("wal_recycle", "off")];
    let primary = cluster.primary("primary", &small).await?;
    let store = StoreUnderTest::create(program, &primary.url(), ORDERS).await?;
    let key = store.key("clients").await?;
    let replicas = replicas(&store, 2).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    disk.fill(0)?;
    let admin = primary.admin(testbed::postgres::DATABASE).await?;
    // A file of its own can no longer be made larger.
    let grown = admin.batch_execute("CREATE TABLE large AS SELECT generate_series(1, 1000000)");
    report.expect(grown.await.is_err(), || "the disk is not full".to_string());
    tokio::time::sleep(Duration::from_secs(3)).await;
    disk.make_room()?;
    let room = traffic.now();
    tokio::time::sleep(RECOVERY).await;
    let seen = traffic.stop().await?;
    let outage = seen.outage_after(room).context("no cancellation afterwards")?;
    report.time("first 204 after there was room", outage, RECOVERY);
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}
