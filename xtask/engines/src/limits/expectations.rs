//! What holds while Redis is lost, and when it is back.

use super::clients::{SIXTY_A_DAY, admit, request};
use anyhow::{Context, bail};
use futures::future::{FutureExt, join_all};
use std::time::{Duration, Instant};
use store_orders::limits::redis::ANSWER_LIMIT;
use store_orders::limits::{Decision, Limits, RedisLimits};
use testbed::Report;

/// The account that must not be admitted again, whatever fails.
pub const EXHAUSTED: i64 = 1;

/// The account that is admitted whenever Redis is there.
const OTHER: i64 = 2;

/// How long after a refusal its reason may be missing: far longer than it takes.
const REASON_TIMEOUT: Duration = Duration::from_secs(10);

/// How long requests may be refused after Redis is back.
const BACK_WITHIN: Duration = Duration::from_secs(1);

/// Uses up the day of the account that must not be admitted again.
pub async fn exhaust(limits: &RedisLimits) -> anyhow::Result<()> {
    for _ in 0..SIXTY_A_DAY.per_minute {
        let decision = admit(limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
        anyhow::ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
    }
    Ok(())
}

/// Counts were lost so often, as far as this limiter noticed.
pub fn expect_lost(what: &str, times: u64, limits: &RedisLimits, report: &mut Report) {
    let noticed = limits.times_lost().get();
    report.expect(noticed == times, || {
        format!("{what}: counts were said to be lost {noticed} times, not {times}")
    });
}

/// Fifty at once are refused within the deadline. Once the outage is known, requests are refused
/// without waiting for anything; for how long is said.
pub async fn is_refused(
    what: &str,
    limits: &RedisLimits,
    report: &mut Report,
) -> anyhow::Result<()> {
    let plan = SIXTY_A_DAY;
    let began = Instant::now();
    let mut decisions = join_all((0..50).map(|_| admit(limits, request(OTHER, plan)))).await;
    report.time(format!("{what}: the first answers"), began.elapsed(), 2 * ANSWER_LIMIT);
    // Requests are answered just before the outage is begun.
    let began = Instant::now();
    while limits.unavailable_because().is_none() {
        if began.elapsed() > REASON_TIMEOUT {
            bail!("{what}: no reason");
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let at_once = admit(limits, request(OTHER, plan)).now_or_never();
    decisions.push(at_once.with_context(|| format!("{what}: a request waits in the outage"))?);
    for decision in decisions {
        let Decision::Unavailable(status) = decision else {
            bail!("{what}: {decision:?}");
        };
        let figures = (status.limit, status.remaining, status.retry_after());
        report.expect(figures.0 == 60 && figures.1 == 0 && (1..=5).contains(&figures.2), || {
            format!("{what}: {figures:?}")
        });
    }
    Ok(())
}

/// Requests are admitted again, and the exhausted account is still not.
pub async fn is_back(what: &str, limits: &RedisLimits, report: &mut Report) -> anyhow::Result<()> {
    is_available(what, limits, report).await?;
    let exhausted = admit(limits, request(EXHAUSTED, SIXTY_A_DAY)).await;
    report.expect(matches!(exhausted, Decision::Limited(..)), || {
        format!("{what}: the exhausted account got {exhausted:?}")
    });
    Ok(())
}

/// Requests are admitted again, within a second.
pub async fn is_available(
    what: &str,
    limits: &RedisLimits,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while let Decision::Unavailable(_) = admit(limits, request(OTHER, SIXTY_A_DAY)).await {
        if began.elapsed() > 10 * BACK_WITHIN {
            bail!("{what}: still refused because {:?}", limits.unavailable_because());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    report.time(format!("{what}: until requests were admitted"), began.elapsed(), BACK_WITHIN);
    Ok(())
}
