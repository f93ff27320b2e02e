//! A Redis that fails: every request has its answer in time, and what was counted stays
//! counted or is said to be lost.

use super::clients::{admit, connection, free, limiter, request};
use anyhow::bail;
use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use store_orders::limits::redis::ANSWER_LIMIT;
use store_orders::limits::{Decision, Limits, RedisLimits};
use testbed::redis::{InstalledRedis, Redis};
use testbed::{Report, Signal};

/// How long requests may be refused after Redis is back.
const BACK_WITHIN: Duration = Duration::from_secs(2);

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let limits = limiter(&server).await?;
    // The account that must not be admitted again, whatever fails.
    for _ in 0..free()?.per_minute {
        admit(&limits, request(1, free()?)).await;
    }
    server.signal(Signal::STOP)?;
    is_refused("suspended", &limits, report).await?;
    server.signal(Signal::CONT)?;
    is_back("suspended", &limits, report).await?;

    let mut operator = connection(&server).await?;
    set(&mut operator, &["CONFIG", "SET", "maxmemory", "1"]).await?;
    is_refused("full", &limits, report).await?;
    set(&mut operator, &["CONFIG", "SET", "maxmemory", "0"]).await?;
    is_back("full", &limits, report).await?;

    set(&mut operator, &["REPLICAOF", "127.0.0.1", "1"]).await?;
    is_refused("demoted", &limits, report).await?;
    set(&mut operator, &["REPLICAOF", "NO", "ONE"]).await?;
    is_back("demoted", &limits, report).await?;

    // Within a second of its last write, the file may lack it only after a power cut.
    let killed = server.kill()?;
    is_refused("killed", &limits, report).await?;
    let server = killed.restart()?;
    is_back("killed", &limits, report).await?;
    report.expect(limits.times_lost().get() == 0, || "counts were said to be lost".to_string());
    is_emptied(&server, &limits, report).await
}

/// An emptied Redis is noticed, and counts on.
async fn is_emptied(
    server: &Redis,
    limits: &RedisLimits,
    report: &mut Report,
) -> anyhow::Result<()> {
    set(&mut connection(server).await?, &["FLUSHALL"]).await?;
    let after = admit(limits, request(1, free()?)).await;
    report.expect(matches!(after, Decision::Admitted(_)), || format!("emptied: {after:?}"));
    let times = limits.times_lost().get();
    report.expect(times == 1, || format!("an emptied Redis was noticed {times} times"));
    Ok(())
}

async fn set(connection: &mut MultiplexedConnection, words: &[&str]) -> anyhow::Result<()> {
    let mut command = redis::Cmd::new();
    command.arg(words);
    Ok(command.query_async(connection).await?)
}

/// Fifty at once are refused within the deadline, then all at once; for how long is said.
async fn is_refused(what: &str, limits: &RedisLimits, report: &mut Report) -> anyhow::Result<()> {
    let plan = free()?;
    for (when, bound) in [("first", ANSWER_LIMIT), ("later", Duration::from_millis(20))] {
        let began = Instant::now();
        let decisions = join_all((0..50).map(|_| admit(limits, request(2, plan)))).await;
        let slack = Duration::from_millis(50);
        report.time(format!("{what}: the {when} answers"), began.elapsed(), bound + slack);
        for decision in decisions {
            let Decision::Unavailable(status) = decision else {
                bail!("{what}: {decision:?}");
            };
            let figures = (status.limit, status.remaining, status.retry_after());
            report
                .expect(figures.0 == 60 && figures.1 == 0 && (1..=5).contains(&figures.2), || {
                    format!("{what}: {figures:?}")
                });
        }
    }
    report.expect(limits.unavailable_because().is_some(), || format!("{what}: no reason"));
    Ok(())
}

/// Requests are admitted again, and what was counted before is still counted.
async fn is_back(what: &str, limits: &RedisLimits, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    while limits.unavailable_because().is_some() {
        if began.elapsed() > 10 * BACK_WITHIN {
            bail!("{what}: still refused because {:?}", limits.unavailable_because());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    report.time(format!("{what}: until requests were admitted"), began.elapsed(), BACK_WITHIN);
    let other = admit(limits, request(2, free()?)).await;
    report.expect(matches!(other, Decision::Admitted(_)), || format!("{what}: {other:?}"));
    let exhausted = admit(limits, request(1, free()?)).await;
    report.expect(matches!(exhausted, Decision::Limited(..)), || {
        format!("{what}: the exhausted account got {exhausted:?}")
    });
    Ok(())
}

/// A Cluster, a replica and a server behind a password are refused with the reason.
pub async fn run_unsuitable(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    for (settings, reason) in [
        (&[("cluster-enabled", "yes")][..], "Cluster"),
        (&[("replicaof", "127.0.0.1 1")][..], "is a replica"),
        (&[("requirepass", "swordfish")][..], "cannot connect"),
    ] {
        let server = installed.start(settings)?;
        let refusal = match limiter(&server).await {
            Ok(_) => "nothing".to_string(),
            Err(error) => format!("{error:#}"),
        };
        report.expect(refusal.contains(reason), || format!("{settings:?}: {refusal}"));
        report.figure(refusal);
    }
    Ok(())
}
