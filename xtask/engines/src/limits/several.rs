//! Three limiters on one Redis: at most the plan is admitted, by all together.

use super::clients::{admit, free, limiter, request};
use futures::future::join_all;
use store_orders::limits::Decision;
use testbed::Report;
use testbed::redis::InstalledRedis;

const REQUESTS: usize = 200;
const ROUNDS: i64 = 50;

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let plan = free()?;
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
    report.figure(format!("{ROUNDS} accounts, {REQUESTS} requests at once through 3 limiters"));
    Ok(())
}
