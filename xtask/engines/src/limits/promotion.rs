//! Another Redis is made the primary at the same address: what was counted stays counted, or
//! is said to be lost.

use super::clients::{SIXTY_A_DAY, admit, connection, limiter_at, request, send};
use super::expectations::{EXHAUSTED, exhaust, expect_lost, is_available, is_back};
use anyhow::bail;
use redis::InfoDict;
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, RedisLimits};
use testbed::Report;
use testbed::redis::{InstalledRedis, Redis};
use testbed::relay::{Fault, Relay};

const WITHIN: Duration = Duration::from_secs(10);

/// A primary, and a replica that may be cut off from it; requests are counted in the one
/// that the service's address leads to.
struct PrimaryAndReplica {
    primary: Redis,
    replica: Redis,
    replication: Relay,
    service: Relay,
    limits: RedisLimits,
}

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    linked(installed, report).await?;
    behind(installed, report).await?;
    unfinished(installed, report).await
}

/// A replica that has all loses nothing.
async fn linked(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let mut tried = 0;
    let servers = loop {
        let servers = PrimaryAndReplica::start(installed).await?;
        exhaust(&servers.limits).await?;
        servers.synced().await?;
        servers.promote().await?;
        // Servers send an empty batch every half second.
        if servers.had_all().await? {
            break servers;
        }
        tried += 1;
        anyhow::ensure!(tried < 5, "something was written during each of {tried} promotions");
    };
    let (host, port) = ("127.0.0.1", servers.replica.port().to_string());
    send(&mut connection(&servers.primary).await?, &["REPLICAOF", host, &port]).await?;
    let first = admit(&servers.limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    let is_counted_anew = matches!(first, Decision::Admitted(_));
    report.expect(!is_counted_anew, || format!("just after the promotion: {first:?}"));
    is_back("promoted with the link up", &servers.limits, report).await?;
    expect_lost("promoted with the link up", 0, &servers.limits, report);
    Ok(())
}

/// A replica without the last counts is noticed.
async fn behind(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let servers = PrimaryAndReplica::start(installed).await?;
    admit(&servers.limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    servers.synced().await?;
    servers.replication.set(Fault::Reset);
    exhaust_rest(&servers.limits).await?;
    servers.promote().await?;
    let _killed = servers.primary.kill()?;
    is_available("promoted without the last counts", &servers.limits, report).await?;
    let after = admit(&servers.limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    let remaining = after.status().remaining;
    report.expect(remaining == 58, || format!("the replica had one request: {after:?}"));
    expect_lost("promoted without the last counts", 1, &servers.limits, report);
    Ok(())
}

/// A replica whose first sync never finished has nothing, and says nothing of it.
async fn unfinished(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let servers = PrimaryAndReplica::start_cut_off(installed).await?;
    exhaust(&servers.limits).await?;
    servers.promote().await?;
    let _killed = servers.primary.kill()?;
    is_available("promoted before its first sync", &servers.limits, report).await?;
    let after = admit(&servers.limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    report.expect(matches!(after, Decision::Admitted(_)), || format!("empty: {after:?}"));
    expect_lost("promoted before its first sync", 1, &servers.limits, report);
    Ok(())
}

async fn exhaust_rest(limits: &RedisLimits) -> anyhow::Result<()> {
    while let Decision::Admitted(_) = admit(limits, request(EXHAUSTED, SIXTY_A_DAY)).await {}
    Ok(())
}

impl PrimaryAndReplica {
    async fn start(installed: &InstalledRedis) -> anyhow::Result<PrimaryAndReplica> {
        PrimaryAndReplica::start_with(installed, Fault::None).await
    }

    /// What the primary sends never reaches the replica.
    async fn start_cut_off(installed: &InstalledRedis) -> anyhow::Result<PrimaryAndReplica> {
        PrimaryAndReplica::start_with(installed, Fault::NoAnswers).await
    }

    async fn start_with(
        installed: &InstalledRedis,
        fault: Fault,
    ) -> anyhow::Result<PrimaryAndReplica> {
        let primary = installed.start(&[])?;
        let replication = Relay::to(primary.port()).await?;
        replication.set(fault);
        let source = format!("127.0.0.1 {}", replication.port);
        let replica = installed.start(&[("replicaof", &source)])?;
        let service = Relay::to(primary.port()).await?;
        let url = format!("redis://127.0.0.1:{}", service.port);
        let limits = limiter_at(&url, LimitsLost::Refuse).await?;
        Ok(PrimaryAndReplica { primary, replica, replication, service, limits })
    }

    /// Waits until the replica has all.
    async fn synced(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut primary = connection(&self.primary).await?;
        let mut replica = connection(&self.replica).await?;
        loop {
            let mut asked = redis::cmd("INFO");
            let of_primary: InfoDict = asked.arg("replication").query_async(&mut primary).await?;
            let of_replica: InfoDict = asked.query_async(&mut replica).await?;
            let offset = |info: &InfoDict| info.get::<i64>("master_repl_offset");
            let is_up = of_replica.get::<String>("master_link_status").as_deref() == Some("up");
            if is_up && offset(&of_primary) == offset(&of_replica) {
                return Ok(());
            }
            if began.elapsed() > WITHIN {
                bail!("the replica does not follow");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Whether the replica had all when it was promoted.
    async fn had_all(&self) -> anyhow::Result<bool> {
        let mut primary = connection(&self.primary).await?;
        let mut promoted = connection(&self.replica).await?;
        let mut asked = redis::cmd("INFO");
        let of_primary: InfoDict = asked.arg("replication").query_async(&mut primary).await?;
        let of_promoted: InfoDict = asked.query_async(&mut promoted).await?;
        let written = of_primary.get::<i64>("master_repl_offset");
        // The first byte that it would have read next.
        let missing = of_promoted.get::<i64>("second_repl_offset");
        Ok(written.is_some() && written.map(|offset| offset + 1) == missing)
    }

    async fn promote(&self) -> anyhow::Result<()> {
        send(&mut connection(&self.replica).await?, &["REPLICAOF", "NO", "ONE"]).await?;
        self.service.retarget(self.replica.port());
        Ok(())
    }
}
