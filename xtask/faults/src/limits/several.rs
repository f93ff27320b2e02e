//! Three limiters on one store: at most the plan is admitted, by all together.

use super::clients::{Limiter, SIXTY_A_DAY, admitted, request};
use anyhow::Context;
use futures::future::join_all;
use store_orders::limits::{Decision, KeyedRequest};
use store_orders_api::plans::Plan;
use testbed::Report;
use testbed::postgres::{Cluster, Installed};

const REQUESTS: usize = 200;
const ROUNDS: i64 = 50;

/// Runs it.
pub async fn run(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let primary = cluster.primary("primary", &[]).await?;
    let mut limiters = Vec::new();
    for _ in 0..3 {
        limiters.push(Limiter::open(&primary.url(), Some("limits")).await?);
    }
    let plan = Plan::Free.limits().context("the Free plan has limits")?;
    for account in 0..ROUNDS {
        let spread = limiters.iter().cycle().take(REQUESTS);
        let decisions = join_all(spread.map(|one| one.admit(request(account, plan)))).await;
        let admitted = admitted(&decisions);
        report.expect(admitted == plan.per_minute as usize, || {
            format!("{admitted} of {REQUESTS} requests at once were admitted")
        });
        let begins = |one: &&Decision| matches!(one, Decision::Banned { begins: true, .. });
        let begun = decisions.iter().filter(begins).count();
        report.expect(begun == 1, || format!("{begun} bans began"));
    }
    let plan = Plan::Business.limits().context("the Business plan has limits")?;
    let spread = limiters.iter().cycle().take(500);
    let decisions = join_all(spread.map(|one| one.admit(request(ROUNDS, plan)))).await;
    report.expect(admitted(&decisions) == 500, || "Business was refused some of 500".to_string());
    // Two keys of one account, through two limiters, share its windows.
    let of = |key| KeyedRequest { key: ROUNDS + key, ..request(ROUNDS + 1, SIXTY_A_DAY) };
    let spread = limiters.iter().zip([1, 2]).cycle().take(REQUESTS);
    let decisions = join_all(spread.map(|(one, key)| one.admit(of(key)))).await;
    report.expect(admitted(&decisions) == 60, || {
        format!("{} admitted of two keys of one account", admitted(&decisions))
    });
    report.figure(format!("{ROUNDS} accounts, {REQUESTS} requests at once through 3 limiters"));
    Ok(())
}
