//! Transaction ids near their wraparound: each transaction has a warning, and servers and commands
//! work all the same.

use super::setup::{expect_agreement, start_replicas};
use crate::replicas::StoreUnderTest;
use crate::scenario::Tools;
use testbed::Report;
use testbed::postgres::{Cluster, DATABASE};

/// The first transaction id of a segment of pg_xact, 36 million before the wraparound: warnings
/// begin 40 million before it.
const NEXT_ID: u32 = 2_014 * 1_048_576;

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let settings = [("wal_level", "logical")];
    let primary = cluster.primary("primary", &settings).await?;
    // With it no vacuum of a catalog ends the warnings.
    let slot = "SELECT pg_create_logical_replication_slot('old', 'pgoutput')";
    primary.admin("postgres").await?.batch_execute(slot).await?;
    let port = primary.port;
    primary.stop()?;
    cluster.set_next_transaction("primary", NEXT_ID)?;
    let primary = cluster.start_at("primary", port, &settings).await?;

    let store = StoreUnderTest::create(&tools.program, &primary.url(), 10).await?;
    let key = store.key("clients").await?;
    let replicas = start_replicas(&store, 2).await?;
    for (id, replica) in (1..).zip(&replicas) {
        let status = replica.cancel(&key, id).await?;
        report.expect(status == 204, || format!("order {id}: {status}"));
    }
    expect_agreement(&replicas, &key, report).await?;
    let left = "SELECT 2147483647 - age(datfrozenxid) FROM pg_database WHERE datname = 'postgres'";
    let left: i32 = primary.admin(DATABASE).await?.query_one(left, &[]).await?.try_get(0)?;
    report.expect(left < 40_000_000, || format!("{left} transactions are left: no warnings"));
    report.figure(format!("{left} transactions before the wraparound"));
    Ok(())
}
