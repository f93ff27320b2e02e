//! A Redis that fails: every request has its answer in time, and what was counted stays
//! counted or is said to be lost.

use super::clients::{SIXTY_A_DAY, admit, connection, limiter, request, send, written};
use super::expectations::{EXHAUSTED, exhaust, expect_lost, is_available, is_back, is_refused};
use store_orders::limits::{Decision, RedisLimits};
use testbed::redis::{InstalledRedis, Redis};
use testbed::{Report, Signal};

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let limits = limiter(&server).await?;
    exhaust(&limits).await?;
    server.signal(Signal::STOP)?;
    is_refused("suspended", &limits, report).await?;
    server.signal(Signal::CONT)?;
    is_back("suspended", &limits, report).await?;

    let mut operator = connection(&server).await?;
    send(&mut operator, &["CONFIG", "SET", "maxmemory", "1"]).await?;
    is_refused("full", &limits, report).await?;
    send(&mut operator, &["CONFIG", "SET", "maxmemory", "0"]).await?;
    is_back("full", &limits, report).await?;

    send(&mut operator, &["REPLICAOF", "127.0.0.1", "1"]).await?;
    is_refused("demoted", &limits, report).await?;
    send(&mut operator, &["REPLICAOF", "NO", "ONE"]).await?;
    is_back("demoted", &limits, report).await?;

    written(&mut connection(&server).await?).await?;
    let killed = server.kill()?;
    is_refused("killed", &limits, report).await?;
    let server = killed.restart()?;
    is_back("killed", &limits, report).await?;
    expect_lost("so far", 0, &limits, report);
    is_emptied(&server, &limits, report).await
}

/// An emptied Redis is noticed, and counts on.
async fn is_emptied(
    server: &Redis,
    limits: &RedisLimits,
    report: &mut Report,
) -> anyhow::Result<()> {
    send(&mut connection(server).await?, &["FLUSHALL"]).await?;
    let after = admit(limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    report.expect(matches!(after, Decision::Admitted(_)), || format!("emptied: {after:?}"));
    expect_lost("emptied", 1, limits, report);
    Ok(())
}

/// A Redis that keeps nothing and is restarted is noticed, and counts on.
pub async fn run_without_file(
    installed: &InstalledRedis,
    report: &mut Report,
) -> anyhow::Result<()> {
    let server = installed.start(&[("appendonly", "no")])?;
    let limits = limiter(&server).await?;
    exhaust(&limits).await?;
    let _server = server.kill()?.restart()?;
    is_available("restarted", &limits, report).await?;
    let after = admit(&limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    report.expect(matches!(after, Decision::Admitted(_)), || format!("emptied: {after:?}"));
    expect_lost("restarted without its counts", 1, &limits, report);
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
