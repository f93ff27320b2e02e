//! Accounts and their plans.

use crate::engine::Engine;
use crate::records::{NOW_MS, now, refusal};
use anyhow::ensure;
use std::time::Duration;
use store_orders::keys::Environment;
use store_orders::store::NewKey;
use store_orders_api::plans::{Plan, PlanLimits};

pub fn accounts_are_created_once_and_listed_by_name(engine: &dyn Engine) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    // By bytes: neither a case nor a language changes the order.
    let sorted = ["Acme", "Zeta", "a b", "acme", "acme-2", "zoo", "Ärzte", "école"];
    for name in sorted.iter().rev() {
        commands.create_account(name, Plan::Pro, None, now())?;
    }
    let refused = refusal(commands.create_account(" ", Plan::Pro, None, now()))?;
    ensure!(refused == "an account needs a name", "{refused}");
    let refused = refusal(commands.create_account("acme", Plan::Free, None, now()))?;
    ensure!(refused == "there is an account \"acme\" already", "{refused}");
    commands.create_account("last", Plan::Free, None, now())?;

    let accounts = commands.accounts(NOW_MS)?;
    let names: Vec<_> = accounts.iter().map(|account| account.name.as_str()).collect();
    let expected = ["Acme", "Zeta", "a b", "acme", "acme-2", "last", "zoo", "Ärzte", "école"];
    ensure!(names == expected, "{names:?}");
    let last = commands.account("last", NOW_MS)?;
    ensure!(last.id == 9, "a refused account used up an id: {}", last.id);
    ensure!(last.plan == Plan::Free && last.created_at == "2026-12-24T09:30:00Z", "{last:?}");
    let refused = refusal(commands.account("none", NOW_MS))?;
    let expected =
        "there is no account \"none\"; `store-orders accounts list` shows those there are";
    ensure!(refused == expected, "{refused}");

    let lives = |seconds| Some(Duration::from_secs(seconds));
    for expires_after in [None, lives(10), lives(20)] {
        let new = NewKey { account: "acme", environment: Environment::Staging, expires_after };
        commands.issue_key(&new, NOW_MS)?;
    }
    for (after_ms, keys) in [(0, 3), (9_999, 3), (10_000, 2), (20_000, 1)] {
        let account = commands.account("acme", NOW_MS + after_ms)?;
        ensure!(account.keys == keys, "{} keys after {after_ms} ms", account.keys);
    }
    Ok(())
}

pub fn plans_have_their_limits_and_enterprise_its_own(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    let own = PlanLimits { per_minute: u32::MAX, per_day: 0 };
    let refused = refusal(commands.create_account("acme", Plan::Enterprise, None, now()))?;
    ensure!(refused.contains("--per-minute N --per-day N"), "{refused}");
    let refused = refusal(commands.create_account("acme", Plan::Pro, Some(own), now()))?;
    ensure!(refused.contains("the plan pro has fixed limits"), "{refused}");
    ensure!(commands.accounts(NOW_MS)?.is_empty());

    commands.create_account("acme", Plan::Enterprise, Some(own), now())?;
    let environment = Environment::Production;
    let new = NewKey { account: "acme", environment, expires_after: None };
    commands.issue_key(&new, NOW_MS)?;
    let served = || -> anyhow::Result<Vec<(Plan, PlanLimits)>> {
        Ok(store.keys()?.into_iter().map(|(_, key)| (key.plan, key.limits)).collect())
    };
    ensure!(served()? == [(Plan::Enterprise, own)]);
    ensure!(commands.account("acme", NOW_MS)?.limits == own);
    for plan in [Plan::Free, Plan::Pro, Plan::Business] {
        commands.set_plan("acme", plan, None)?;
        let limits = plan.limits().unwrap_or(own);
        ensure!(served()? == [(plan, limits)]);
        ensure!(commands.account("acme", NOW_MS)?.limits == limits);
    }
    let refused = refusal(commands.set_plan("acme", Plan::Enterprise, None))?;
    ensure!(refused.contains("--per-minute N --per-day N"), "{refused}");
    let refused = refusal(commands.set_plan("none", Plan::Pro, None))?;
    ensure!(refused.starts_with("there is no account \"none\""), "{refused}");
    commands.set_plan("acme", Plan::Enterprise, Some(own))?;
    ensure!(served()? == [(Plan::Enterprise, own)]);
    Ok(())
}
