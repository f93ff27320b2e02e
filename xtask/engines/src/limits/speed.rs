//! Admissions a second in batches, beside one script for each request on the same kind of
//! connection; and what an account takes of Redis' memory.

use super::clients::{STORE_ID, admit, connection, limiter, request};
use futures::future::join_all;
use redis::InfoDict;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use store_orders::limits::redis::AdmissionScript;
use store_orders::limits::{Decision, KeyedRequest, RedisLimits};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::redis::InstalledRedis;

const DURATION: Duration = Duration::from_secs(2);
const ACCOUNTS: i64 = 10_000;
const UNLIMITED: PlanLimits = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let limits = limiter(&server).await?;
    let mut beside = connection(&server).await?;
    let script = AdmissionScript::new(STORE_ID);
    for waiting in [1, 64, 256] {
        let batched = batched(&limits, waiting).await?;
        let single = single(&script, &beside, waiting).await?;
        report.figure(format!(
            "{waiting} waiting: {batched:.0} admissions/s in batches, {single:.0} with a script each"
        ));
    }
    // Without the rows of above.
    redis::cmd("FLUSHALL").query_async::<()>(&mut beside).await?;
    let empty = memory(&mut beside).await?;
    for limit in [UNLIMITED, PlanLimits { per_minute: 1, per_day: 1 }] {
        let before = memory(&mut beside).await?;
        for first in (0..ACCOUNTS).step_by(100) {
            join_all((first..first + 100).map(|row| admit(&limits, request(row, limit)))).await;
        }
        let bytes = (memory(&mut beside).await? - before) / ACCOUNTS;
        let what = if before == empty { "an account" } else { "a refused key more" };
        report.figure(format!("{what}: {bytes} bytes in Redis"));
    }
    Ok(())
}

async fn batched(limits: &RedisLimits, waiting: i64) -> anyhow::Result<f64> {
    rate(waiting, async |request| {
        let decision = admit(limits, request).await;
        anyhow::ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
        Ok(())
    })
    .await
}

async fn single(
    script: &AdmissionScript,
    connection: &MultiplexedConnection,
    waiting: i64,
) -> anyhow::Result<f64> {
    rate(waiting, async |request| {
        script.run(&mut connection.clone(), &[request]).await?;
        Ok(())
    })
    .await
}

/// As many clients as wait, each of its own account, one request after the other.
async fn rate(
    waiting: i64,
    admit: impl AsyncFn(KeyedRequest) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let began = Instant::now();
    let admit = &admit;
    let clients = (0..waiting).map(|client| async move {
        let mut done = 0_u32;
        while began.elapsed() < DURATION {
            admit(request(client, UNLIMITED)).await?;
            done += 1;
        }
        anyhow::Ok(done)
    });
    let mut total = 0;
    for done in join_all(clients).await {
        total += done?;
    }
    Ok(f64::from(total) / began.elapsed().as_secs_f64())
}

async fn memory(connection: &mut MultiplexedConnection) -> anyhow::Result<i64> {
    let info: InfoDict = redis::cmd("INFO").arg("memory").query_async(connection).await?;
    info.get("used_memory").ok_or_else(|| anyhow::anyhow!("INFO has no used_memory"))
}
