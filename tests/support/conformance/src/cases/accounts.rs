//! Tests that accounts are created, renamed and closed, and that their plans change.

use crate::engine::Engine;
use crate::listing::{accounts, keys};
use crate::records::{NOW_MS, new_key, now, refusal};
use anyhow::ensure;
use std::time::Duration;
use store_orders::store::{Account, AccountPlan, KeyRecord, NewKey, Rotation};
use store_orders_api::plans::{Plan, PlanLimits};

pub fn accounts_are_created_once_and_listed_by_name(engine: &dyn Engine) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    // Accounts are sorted by the bytes of their names.
    let sorted = ["Acme", "Zeta", "a b", "acme", "acme-2", "zoo", "Ärzte", "école"];
    for name in sorted.iter().rev() {
        commands.create_account(name, Plan::Pro, None, now())?;
    }
    let refused = refusal(commands.create_account("acme", Plan::Free, None, now()))?;
    ensure!(refused == "there is an account \"acme\" already", "{refused}");
    commands.create_account("last", Plan::Free, None, now())?;

    let accounts = commands.accounts(NOW_MS)?;
    let names: Vec<_> = accounts.iter().map(|(account, _)| &*account.name).collect();
    let expected = ["Acme", "Zeta", "a b", "acme", "acme-2", "last", "zoo", "Ärzte", "école"];
    ensure!(names == expected, "{names:?}");
    let (last, _) = commands.account("last", NOW_MS)?;
    ensure!(last.id == 9, "a refused account consumed an id: {}", last.id);
    ensure!(last.plan.name == Plan::Free && last.created_at == now(), "{last:?}");
    refusal(commands.account("none", NOW_MS))?;

    let lives = |seconds| Some(Duration::from_secs(seconds));
    for expires_after in [None, lives(10), lives(20)] {
        commands.issue_key(&NewKey { expires_after, ..new_key("acme") }, NOW_MS)?;
    }
    for (after_ms, keys) in [(0, 3), (9_999, 3), (10_000, 2), (20_000, 1)] {
        let (_, counted) = commands.account("acme", NOW_MS + after_ms)?;
        ensure!(counted == keys, "{counted} keys after {after_ms} ms");
    }
    Ok(())
}

pub fn an_account_is_renamed_and_keeps_its_keys(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    commands.create_account("  acme ", Plan::Pro, None, now())?;
    commands.create_account("globex", Plan::Free, None, now())?;
    let issued = commands.issue_key(&new_key("acme"), NOW_MS)?;
    let before = (commands.account("acme", NOW_MS)?.0, keys(&store)?.len());
    let refused = refusal(commands.rename_account("acme", " globex"))?;
    ensure!(refused == "there is an account \"globex\" already", "{refused}");
    commands.rename_account("acme", "acme")?;
    let name = "“Ärzte” \"O'Neill\\\" नमस्ते 🐶";
    commands.rename_account("acme", &format!(" {name} "))?;
    let (renamed, _) = commands.account(name, NOW_MS)?;
    ensure!(renamed == Account { name: name.into(), ..before.0 }, "{renamed:?}");
    let names = accounts(&store)?.into_values().map(|account| account.name.to_string());
    ensure!(names.collect::<Vec<_>>() == [name, "globex"], "servers read wrong names");
    let record = commands.key_record(&issued.key.digest())?;
    ensure!(record.is_some_and(|key| key.account == renamed) && keys(&store)?.len() == before.1);
    commands.rename_account("globex", "acme")?;
    ensure!(commands.account("acme", NOW_MS)?.0.id == 2);
    Ok(())
}

pub fn a_closed_account_has_no_key_and_gets_none(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    for name in ["acme", "globex"] {
        commands.create_account(name, Plan::Pro, None, now())?;
    }
    let issue = |account| commands.issue_key(&new_key(account), NOW_MS);
    let (first, second, third) = (issue("acme")?, issue("acme")?, issue("acme")?);
    issue("globex")?;
    commands.revoke_key(&first.id, NOW_MS - 5)?;
    ensure!(commands.close_account("acme", now())? == 2);
    let a_minute_later = now() + Duration::from_secs(60);
    ensure!(commands.close_account("acme", a_minute_later)? == 0);
    let (acme, keys) = commands.account("acme", NOW_MS)?;
    ensure!(acme.closed_at == Some(now()) && keys == 0, "{acme:?}, {keys} keys");
    let (globex, _) = commands.account("globex", NOW_MS)?;
    ensure!(globex.closed_at.is_none(), "{globex:?}");
    let served = accounts(&store)?;
    ensure!(served.values().eq([&acme, &globex]), "{served:?}");
    commands.revoke_key(&second.id, NOW_MS + 5)?;
    let ends = commands.key_records()?.iter().map(KeyRecord::revoked_at).collect::<Vec<_>>();
    ensure!(ends == [Some(NOW_MS - 5), Some(NOW_MS), Some(NOW_MS), None], "{ends:?}");
    let rotation = Rotation { key_id: &third.id, overlap: Duration::ZERO, label: None };
    let refused = refusal(commands.rotate_key(rotation, NOW_MS))?;
    ensure!(refused.ends_with("is revoked; issue a new key instead"), "{refused}");
    let refused = refusal(commands.issue_key(&new_key("acme"), NOW_MS))?;
    ensure!(refused.starts_with("the account \"acme\" is closed"), "{refused}");
    let refused = refusal(commands.create_account("acme", Plan::Pro, None, now()))?;
    ensure!(refused == "there is an account \"acme\" already", "{refused}");
    ensure!(commands.check()?.problems.is_empty());
    Ok(())
}

pub fn plans_have_fixed_limits_except_enterprise(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let limits_of_account = PlanLimits { per_minute: u32::MAX, per_day: 0 };
    let enterprise = AccountPlan { name: Plan::Enterprise, limits: limits_of_account };
    commands.create_account("acme", Plan::Enterprise, Some(limits_of_account), now())?;
    commands.issue_key(&new_key("acme"), NOW_MS)?;
    let served = || -> anyhow::Result<Vec<AccountPlan>> {
        Ok(accounts(&store)?.values().map(|account| account.plan).collect())
    };
    ensure!(served()? == [enterprise]);
    ensure!(commands.account("acme", NOW_MS)?.0.plan == enterprise);
    for plan in [Plan::Free, Plan::Pro, Plan::Business] {
        commands.set_plan("acme", plan, None)?;
        let limits = plan.limits().unwrap_or(limits_of_account);
        let plan = AccountPlan { name: plan, limits };
        ensure!(served()? == [plan]);
        ensure!(commands.account("acme", NOW_MS)?.0.plan == plan);
    }
    commands.set_plan("acme", Plan::Enterprise, Some(limits_of_account))?;
    ensure!(served()? == [enterprise]);
    Ok(())
}
