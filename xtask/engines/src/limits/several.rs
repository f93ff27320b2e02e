//! Three limiters on one Redis: at most the plan is admitted, by all together.

use super::clients::{SIXTY_A_DAY, admit, limiter, request};
use anyhow::Context;
use futures::future::join_all;
use store_orders::limits::{Decision, KeyedRequest, RedisLimits};
use store_orders_api::plans::Plan;
use testbed::Report;
use testbed::redis::InstalledRedis;

const REQUESTS: usize = 200;
const ROUNDS: i64 = 50;

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let plan = Plan::Free.limits().context("the Free plan has limits")?;
    let limiters = [limiter(&server).await?, limiter(&server).await?, limiter(&server).await?];
    for account in 0..ROUNDS {
        let spread = limiters.iter().cycle().take(REQUESTS);
        let decisions =
            join_all(spread.map(|limiter| admit(limiter, request(account, plan)))).await;
        let count = |of: fn(&Decision) -> bool| decisions.iter().filter(|one| of(one)).count();
        let admitted = count(|one| matches!(one, Decision::Admitted(_)));
        report.expect(admitted == plan.per_minute as usize, || {
            format!("{admitted} of {REQUESTS} requests at once were admitted")
        });
        let begun = count(|one| matches!(one, Decision::Banned { begins: true, .. }));
        report.expect(begun == 1, || format!("{begun} bans began"));
    }
    business(&limiters, report).await?;
    two_keys(&limiters, report).await?;
    report.figure(format!("{ROUNDS} accounts, {REQUESTS} requests at once through 3 limiters"));
    Ok(())
}

/// Five hundred at once are admitted on the Business plan.
async fn business(limiters: &[RedisLimits; 3], report: &mut Report) -> anyhow::Result<()> {
    let plan = Plan::Business.limits().context("the Business plan has limits")?;
    let spread = limiters.iter().cycle().take(500);
    let decisions = join_all(spread.map(|limiter| admit(limiter, request(ROUNDS, plan)))).await;
    let admitted = decisions.iter().filter(|one| matches!(one, Decision::Admitted(_))).count();
    report.expect(admitted == 500, || format!("{admitted} of 500 on the Business plan"));
    Ok(())
}

/// Two keys of one account, each through its own limiter, share its windows and have their
/// own bans.
async fn two_keys(limiters: &[RedisLimits; 3], report: &mut Report) -> anyhow::Result<()> {
    let [one, other, _] = limiters;
    let of = |key| KeyedRequest { key: ROUNDS + key, ..request(ROUNDS + 1, SIXTY_A_DAY) };
    let sent = (0..100).flat_map(|_| [admit(one, of(1)), admit(other, of(2))]);
    let decisions = join_all(sent).await;
    let admitted = decisions.iter().filter(|one| matches!(one, Decision::Admitted(_))).count();
    report.expect(admitted == 60, || format!("{admitted} admitted of two keys of one account"));
    let begins = |one: &&Decision| matches!(one, Decision::Banned { begins: true, .. });
    let begun = decisions.iter().filter(begins).count();
    report.expect(begun <= 2, || format!("{begun} bans of two keys"));
    Ok(())
}
