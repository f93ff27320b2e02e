//! Sentinel names the primary: requests are counted there, whichever it is.

use super::clients::{NOW, SIXTY_A_DAY, STORE_ID, admit, connection, limiter_at, request, send};
use super::expectations::{EXHAUSTED, exhaust, expect_lost, is_back};
use anyhow::bail;
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::redis::{ANSWER_LIMIT, RedisLimitsReport};
use store_orders::limits::{Decision, Limits, LimitsReport, RedisLimits};
use testbed::redis::{InstalledRedis, Redis};
use testbed::{Report, Signal};
use tokio::task::block_in_place;
use tokio::time::sleep;

const SERVICE: &str = "orders";
const PASSWORD: &str = "swordfish";

/// How long Sentinel may take to promote: half a second until a primary counts as dead, an
/// election, and the promotion.
const FAILOVER: Duration = Duration::from_secs(5);

/// How long it is waited for a state before the case fails.
const WITHIN: Duration = Duration::from_secs(30);

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let primary = installed.start(&[])?;
    let replica = installed.start(&[("replicaof", &format!("127.0.0.1 {}", primary.port()))])?;
    let mut sentinels = Vec::new();
    for _ in 0..3 {
        sentinels.push(installed.sentinel(SERVICE, primary.port(), 2, &[])?);
    }
    for sentinel in &sentinels {
        knows(sentinel, "num-slaves", 1).await?;
        knows(sentinel, "num-other-sentinels", 2).await?;
    }
    let limits = limiter_at(&url(&sentinels), LimitsLost::Refuse).await?;
    exhaust(&limits).await?;
    let killed = primary.kill()?;
    let took = failed_over(&limits, report).await?;
    report.time("killed: until requests were admitted", took, FAILOVER);
    is_back("killed", &limits, report).await?;

    // The old one comes back and is made a replica; then the new one is suspended.
    let primary = killed.restart()?;
    is_replica(&primary).await?;
    replica.signal(Signal::STOP)?;
    let took = failed_over(&limits, report).await?;
    report.time("suspended: until requests were admitted", took, FAILOVER);
    replica.signal(Signal::CONT)?;
    is_back("suspended", &limits, report).await?;
    is_replica(&replica).await?;
    expect_lost("two failovers", 0, &limits, report);
    one_sentinel_left(sentinels, &limits, report).await?;
    replaced(installed, report).await?;
    with_password(installed, report).await
}

/// One password for the primary and for Sentinel, which asks for it.
async fn with_password(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let primary = installed.start(&[("requirepass", PASSWORD)])?;
    let lines =
        [format!("requirepass {PASSWORD}"), format!("sentinel auth-pass orders {PASSWORD}")];
    let lines = lines.each_ref().map(String::as_str);
    let sentinel = installed.sentinel(SERVICE, primary.port(), 1, &lines)?;
    let url = url(std::slice::from_ref(&sentinel));
    let right = url.replace("://", &format!("://:{PASSWORD}@"));
    let limits = limiter_at(&right, LimitsLost::Refuse).await?;
    exhaust(&limits).await?;
    let parsed = right.parse()?;
    let used = block_in_place(|| {
        let seen = RedisLimitsReport::open(&parsed, STORE_ID)?.usage(EXHAUSTED, NOW)?;
        anyhow::Ok(seen.minute.map(|minute| minute.requests))
    })?;
    report.expect(used == Some(60), || format!("an operator's command sees {used:?}"));
    for wrong in [url.clone(), url.replace("://", "://:wrong@")] {
        let refusal = match limiter_at(&wrong, LimitsLost::Refuse).await {
            Ok(_) => "nothing".to_string(),
            Err(error) => format!("{error:#}"),
        };
        let is_said = refusal.contains("NOAUTH") || refusal.contains("authentication failed");
        report.expect(is_said, || format!("{wrong}: {refusal}"));
        report.figure(refusal);
    }
    Ok(())
}

/// One Sentinel that answers is enough; without any there is no start.
async fn one_sentinel_left(
    mut sentinels: Vec<Redis>,
    limits: &RedisLimits,
    report: &mut Report,
) -> anyhow::Result<()> {
    let url = url(&sentinels);
    let Some(last) = sentinels.pop() else { bail!("three sentinels") };
    drop(sentinels);
    let second = limiter_at(&url, LimitsLost::Refuse).await?;
    is_back("one Sentinel left", &second, report).await?;
    drop(last);
    let refusal = match limiter_at(&url, LimitsLost::Refuse).await {
        Ok(_) => "nothing".to_string(),
        Err(error) => format!("{error:#}"),
    };
    report.expect(refusal.contains("no Sentinel names the primary orders"), || refusal.clone());
    report.figure(refusal);
    // Those that have a connection count on.
    is_back("no Sentinel left", limits, report).await
}

/// A primary that still answers, but that Sentinel no longer names, is left.
async fn replaced(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let (old, new) = (installed.start(&[])?, installed.start(&[])?);
    let sentinel = installed.sentinel(SERVICE, old.port(), 1, &[])?;
    let limits = limiter_at(&url(std::slice::from_ref(&sentinel)), LimitsLost::Refuse).await?;
    exhaust(&limits).await?;
    let mut operator = connection(&sentinel).await?;
    send(&mut operator, &["SENTINEL", "REMOVE", SERVICE]).await?;
    let port = new.port().to_string();
    send(&mut operator, &["SENTINEL", "MONITOR", SERVICE, "127.0.0.1", &port, "1"]).await?;
    let began = Instant::now();
    while limits.times_lost().get() == 0 {
        if began.elapsed() > WITHIN {
            bail!("the old primary is still used");
        }
        admit(&limits, request(2, SIXTY_A_DAY)).await;
        sleep(Duration::from_millis(10)).await;
    }
    report.time("replaced: until the new primary counted", began.elapsed(), 2 * FAILOVER);
    expect_lost("replaced by an empty one", 1, &limits, report);
    Ok(())
}

fn url(sentinels: &[Redis]) -> String {
    let nodes: Vec<String> =
        sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port())).collect();
    format!("redis+sentinel://{}/{SERVICE}", nodes.join(","))
}

/// Waits until this Sentinel has found so many others.
async fn knows(sentinel: &Redis, what: &str, expected: u32) -> anyhow::Result<()> {
    let mut connection = connection(sentinel).await?;
    let began = Instant::now();
    loop {
        let mut asked = redis::cmd("SENTINEL");
        asked.arg("MASTER").arg(SERVICE);
        let answer: std::collections::HashMap<String, String> =
            asked.query_async(&mut connection).await?;
        if answer.get(what).is_some_and(|found| *found == expected.to_string()) {
            return Ok(());
        }
        if began.elapsed() > WITHIN {
            bail!("Sentinel does not know {expected} {what}");
        }
        sleep(Duration::from_millis(50)).await;
    }
}

async fn is_replica(server: &Redis) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        // Sentinel closes the connections of a server whose role it changes.
        let asked = async {
            let mut connection = connection(server).await?;
            let mut question = redis::cmd("INFO");
            anyhow::Ok(question.arg("replication").query_async(&mut connection).await?)
        };
        let info: String = asked.await.unwrap_or_default();
        if info.contains("role:slave") && info.contains("master_link_status:up") {
            return Ok(());
        }
        if began.elapsed() > WITHIN {
            bail!("the old primary was not made a replica");
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// How long requests are refused from now on; each has its answer in time.
async fn failed_over(limits: &RedisLimits, report: &mut Report) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut refused = 0;
    loop {
        let asked = Instant::now();
        match admit(limits, request(2, SIXTY_A_DAY)).await {
            Decision::Unavailable(_) => refused += 1,
            _ if refused > 0 => return Ok(began.elapsed()),
            _ => {}
        }
        let bound = 2 * ANSWER_LIMIT;
        if asked.elapsed() > bound {
            report.time("an answer during a failover", asked.elapsed(), bound);
        }
        if began.elapsed() > WITHIN {
            bail!("no failover: {:?}", limits.unavailable_because());
        }
        sleep(Duration::from_millis(10)).await;
    }
}
