//! What counts take: of Redis' memory, of its append-only file, and of the time that it
//! takes to start.

use super::clients::{admit, connection, limiter, request, send, written};
use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, InfoDict};
use std::time::Instant;
use store_orders::limits::{Decision, RedisLimits};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::redis::InstalledRedis;

const ACCOUNTS: i64 = 10_000;
/// How many requests each account sends.
const ROUNDS: i64 = 10;
/// How many requests wait at a time.
const WAITING: i64 = 100;
const MAX_BYTES_PER_ACCOUNT: i64 = 200;
const UNLIMITED: PlanLimits = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let limits = limiter(&server).await?;
    let mut beside = connection(&server).await?;
    // Without what a first connection allocates.
    all_admitted(&limits, UNLIMITED).await?;
    send(&mut beside, &["FLUSHALL"]).await?;
    let empty = memory(&mut beside).await?;
    let file: i64 = info(&mut beside, "persistence", "aof_current_size").await?;
    for _ in 0..ROUNDS {
        all_admitted(&limits, UNLIMITED).await?;
    }
    let counted = memory(&mut beside).await?;
    let bytes = (counted - empty) / ACCOUNTS;
    report.figure(format!("an account: {bytes} bytes in Redis"));
    report.expect(bytes <= MAX_BYTES_PER_ACCOUNT, || format!("{bytes} bytes an account"));
    written(&mut beside).await?;
    let grown: i64 = info(&mut beside, "persistence", "aof_current_size").await?;
    let each = (grown - file) / (ACCOUNTS * ROUNDS);
    report.figure(format!("an admission: {each} bytes in the append-only file"));
    for first in (0..ACCOUNTS).step_by(WAITING as usize) {
        let one = PlanLimits { per_minute: 1, per_day: 1 };
        join_all((first..first + WAITING).map(|row| admit(&limits, request(row, one)))).await;
    }
    let bytes = (memory(&mut beside).await? - counted) / ACCOUNTS;
    report.figure(format!("a refused key more: {bytes} bytes in Redis"));

    written(&mut beside).await?;
    let killed = server.kill()?;
    let began = Instant::now();
    let _server = killed.restart()?;
    let admissions = (ROUNDS + 2) * ACCOUNTS;
    let took = began.elapsed();
    report.figure(format!("loaded after {admissions} admissions: {took:.2?}"));
    Ok(())
}

/// One request of each account.
async fn all_admitted(limits: &RedisLimits, plan: PlanLimits) -> anyhow::Result<()> {
    for first in (0..ACCOUNTS).step_by(WAITING as usize) {
        let sent = (first..first + WAITING).map(|row| admit(limits, request(row, plan)));
        for decision in join_all(sent).await {
            anyhow::ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
        }
    }
    Ok(())
}

async fn memory(connection: &mut MultiplexedConnection) -> anyhow::Result<i64> {
    info(connection, "memory", "used_memory").await
}

/// A field of a section of INFO.
async fn info<T: FromRedisValue>(
    connection: &mut MultiplexedConnection,
    section: &str,
    field: &str,
) -> anyhow::Result<T> {
    let info: InfoDict = redis::cmd("INFO").arg(section).query_async(connection).await?;
    info.get(field).ok_or_else(|| anyhow::anyhow!("INFO {section} has no {field}"))
}
