//! A command is suspended in its transaction, and holds the lock that every change of orders
//! needs: the server takes its transaction back, and cancellations go on.

use super::setup::{OnPrimary, expect_agreement};
use crate::scenario::Tools;
use anyhow::{Context, bail};
use std::process::Stdio;
use std::time::{Duration, Instant};
use testbed::postgres::DATABASE;
use testbed::{ChildProcess, Report, Signal};

/// How long the command may wait for the lock that another holds.
const WAITS_WITHIN: Duration = Duration::from_secs(20);

/// How soon a cancellation is acknowledged: 20 s, and then the next attempt.
const RECOVERY: Duration = Duration::from_secs(27);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key, replicas } =
        OnPrimary::start(tools, 10, 1).await?;
    let (admin, mut other) = (primary.admin(DATABASE).await?, primary.admin(DATABASE).await?);
    // It stops between its first lock and its COMMIT: in the middle, it waits for this row.
    let locked = other.transaction().await?;
    locked.batch_execute("SELECT FROM orders WHERE id = 1 FOR UPDATE").await?;
    let mut command = store.operator(&store.url).command();
    command.args(["orders", "ship", "1"]).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut child = ChildProcess::new(child, "orders ship");
    let began = Instant::now();
    let waits = "SELECT count(*) FROM pg_stat_activity
                 WHERE application_name = 'store-orders command' AND wait_event_type = 'Lock'";
    while admin.query_one(waits, &[]).await?.try_get::<_, i64>(0)? == 0 {
        if began.elapsed() > WAITS_WITHIN {
            bail!("the command does not wait for the row");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.signal(Signal::STOP)?;
    locked.commit().await?;
    let (began, replica) = (Instant::now(), replicas.first().context("there is a replica")?);
    let mut statuses = Vec::new();
    while statuses.last() != Some(&204) && began.elapsed() < 2 * RECOVERY {
        statuses.push(replica.cancel(&key, 2).await?);
    }
    report.time("a cancellation during the suspended command", began.elapsed(), RECOVERY);
    report.expect_unless_stalled(statuses.first() == Some(&503), || {
        format!("it held no lock: {statuses:?}")
    });
    report.expect_unless_stalled(statuses.last() == Some(&204), || {
        format!("cancellations: {statuses:?}")
    });
    child.signal(Signal::CONT)?;
    let status = child.wait()?;
    report.expect(!status.success(), || "the command reports success".to_string());
    let pending = admin.query_one("SELECT status FROM orders WHERE id = 1", &[]).await?;
    let status: String = pending.try_get(0)?;
    report.expect(status == "pending", || format!("the order of the command is {status}"));
    expect_agreement(&replicas, &key, report).await
}
