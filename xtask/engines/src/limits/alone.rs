//! `--limits-lost local`: without Redis each server grants the whole plan and keeps known
//! bans; with it again, what Redis had counted counts, and nothing else.

use super::clients::{SIXTY_A_DAY, admit, limiter_at, request};
use anyhow::bail;
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, Limits, RedisLimits};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::redis::InstalledRedis;

const EXHAUSTED: i64 = 1;
const FRESH: i64 = 2;
const BANNED: i64 = 3;
const WITHIN: Duration = Duration::from_secs(5);
const BACK_WITHIN: Duration = Duration::from_secs(1);

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let limits = limiter_at(&server.url(), LimitsLost::Local).await?;
    let plan = SIXTY_A_DAY;
    let used = admitted(&limits, EXHAUSTED, plan, 61).await;
    report.expect(used == 60, || format!("{used} admitted by Redis"));
    while !matches!(admit(&limits, request(BANNED, plan)).await, Decision::Banned { .. }) {}

    let killed = server.kill()?;
    for account in [EXHAUSTED, FRESH] {
        // More than would bring a ban.
        let alone = admitted(&limits, account, plan, 200).await;
        report.expect(alone == 60, || format!("{alone} admitted alone"));
        let last = admit(&limits, request(account, plan)).await;
        report.expect(matches!(last, Decision::Limited(..)), || format!("alone: {last:?}"));
    }
    let banned = admit(&limits, request(BANNED, plan)).await;
    let holds = matches!(banned, Decision::Banned { begins: false, .. });
    report.expect(holds, || format!("the banned key, alone: {banned:?}"));
    let decided = limits.decided_alone().get();
    report.expect(decided == 403, || format!("{decided} decided alone"));
    let why = limits.unavailable_because();
    report.expect(why.is_none(), || format!("not ready: {why:?}"));

    let _server = killed.restart()?;
    is_used(&limits, report).await?;
    let exhausted = admit(&limits, request(EXHAUSTED, plan)).await;
    report.expect(matches!(exhausted, Decision::Limited(..)), || {
        format!("the exhausted account: {exhausted:?}")
    });
    Ok(())
}

/// A server that may count alone starts without Redis, and uses it once it is there.
pub async fn run_start(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let url = server.url();
    let killed = server.kill()?;
    let refused = limiter_at(&url, LimitsLost::Refuse).await;
    report.expect(refused.is_err(), || "a server that may not count alone started".to_string());
    let limits = limiter_at(&url, LimitsLost::Local).await?;
    let alone = admitted(&limits, FRESH, SIXTY_A_DAY, 61).await;
    report.expect(alone == 60, || format!("{alone} admitted alone"));
    let _server = killed.restart()?;
    is_used(&limits, report).await
}

/// Waits until Redis counts, which has counted nothing of the fresh account.
async fn is_used(limits: &RedisLimits, report: &mut Report) -> anyhow::Result<()> {
    let plan = SIXTY_A_DAY;
    let began = Instant::now();
    loop {
        let before = limits.decided_alone().get();
        let decision = admit(limits, request(FRESH, plan)).await;
        if limits.decided_alone().get() == before {
            // Sixty were counted alone, none by Redis.
            let is_first = decision.status().remaining == 59;
            report.expect(is_first, || format!("the fresh account: {decision:?}"));
            report.time("until Redis counted", began.elapsed(), BACK_WITHIN);
            return Ok(());
        }
        if began.elapsed() > WITHIN {
            bail!("Redis is not used again");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How many of as many requests are admitted.
async fn admitted(limits: &RedisLimits, account: i64, plan: PlanLimits, requests: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..requests {
        let decision = admit(limits, request(account, plan)).await;
        admitted += u32::from(matches!(decision, Decision::Admitted(_)));
    }
    admitted
}
