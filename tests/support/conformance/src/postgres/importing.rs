//! Cases in which an import fails, or a command waits for the change of another transaction.

use super::database::{LOCK_CHANGES, PostgresUnderTest};
use crate::engine::Engine;
use crate::records::{NOW_MS, account_and_key, import, new_key, now, pending, refusal};
use crate::threads::join;
use anyhow::{Context, ensure};
use std::ops::ControlFlow;
use std::time::Duration;
use store_orders::store::postgres::PostgresOperatorStore;
use store_orders::store::{
    OperatorStore, OrderStatus, OrderUpdate, RecordKind, Records, Rotation, STEP_RECORDS,
    StoreError, import_in_steps,
};
use store_orders_api::plans::Plan;
use store_orders_api::types::Pet;
use testbed::relay::Fault;
use testbed::{WAIT_TIMEOUT, wait_blocking};

pub fn an_import_that_loses_its_connection_keeps_whole_steps(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands()?;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let orders: Vec<_> = (1..=2 * STEP_RECORDS as i64).map(pending).collect();
    let mut killed = Ok(());
    let lost = import_in_steps(&*commands, Records::Orders(&orders), false, &mut |_| {
        killed = database.execute(kill);
        ControlFlow::Continue(())
    });
    killed?;
    let lost = lost.err().context("the import was finished")?;
    ensure!(lost.completed.imported == STEP_RECORDS, "{lost:?}");
    let commands = database.commands()?;
    let report = commands.check()?;
    let pending = report.orders.map(|orders| orders.pending);
    ensure!(report.problems.is_empty() && pending == Some(STEP_RECORDS as i64), "{report:?}");
    let rest = import_in_steps(&*commands, Records::Orders(&orders), true, &mut |_| {
        ControlFlow::Continue(())
    })?;
    ensure!(rest.imported == STEP_RECORDS && rest.skipped == STEP_RECORDS, "{rest:?}");
    Ok(())
}

pub fn a_command_waits_for_other_changes(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    std::thread::scope(|scope| {
        let importing = database.before_commit(LOCK_CHANGES, || {
            let importing = scope.spawn(|| import(&*database.commands()?, [1]));
            database.wait_for_lock()?;
            Ok(importing)
        })?;
        join(importing)?
    })?;
    ensure!(database.commands()?.order(1)?.is_some());
    Ok(())
}

/// Each command requests the change lock, and then sends its other statements without waiting for
/// replies. So PostgreSQL commits the change even if no further reply arrives.
pub fn commands_do_not_wait_for_answers_while_they_hold_the_change_lock(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    type Command = fn(&dyn OperatorStore) -> Result<(), StoreError>;
    let commands: [(&str, Command); 11] = [
        ("create", |store| store.create_account("other", Plan::Pro, None, now())),
        ("rename", |store| store.rename_account("other", "another")),
        ("set-plan", |store| store.set_plan("another", Plan::Free, None)),
        ("close", |store| store.close_account("another", now()).map(drop)),
        ("issue", |store| store.issue_key(&new_key("acme"), NOW_MS).map(drop)),
        ("rotate", |store| {
            let key_id =
                &store.key_records()?.pop().map_or_else(Box::default, |record| record.key.id);
            let rotation = Rotation { key_id, overlap: Duration::ZERO, label: None };
            store.rotate_key(rotation, NOW_MS).map(drop)
        }),
        ("unban", |store| {
            let key_id =
                store.key_records()?.pop().map_or_else(Box::default, |record| record.key.id);
            store.unban_key(&key_id)
        }),
        ("revoke", |store| {
            let key_id =
                store.key_records()?.pop().map_or_else(Box::default, |record| record.key.id);
            store.revoke_key(&key_id, NOW_MS)
        }),
        ("import", |store| store.import(Records::Orders(&[pending(3)]), false).map(drop)),
        ("ship", |store| store.ship_orders(&[1, 2]).map(drop)),
        ("update", |store| {
            let update = OrderUpdate { id: 1, ship_date: None, complete: Some(true) };
            store.update_orders(&[update])
        }),
    ];
    let database = server.new_store()?;
    account_and_key(&*database.commands()?)?;
    import(&*database.commands()?, [1, 2])?;
    let (network, through_network) = database.relay()?;
    let last_change = || database.value::<i64>("SELECT max(change_number) FROM changes", &[]);
    for (name, command) in commands {
        let store = PostgresOperatorStore::connect(&through_network)?;
        let before = last_change()?;
        std::thread::scope(|scope| {
            let under_way = database.before_commit(LOCK_CHANGES, || {
                let under_way = scope.spawn(|| command(&store));
                let waits = database.wait_for_lock();
                network.set(Fault::NoAnswers);
                waits.map(|()| under_way)
            })?;
            let changed =
                wait_blocking(name, WAIT_TIMEOUT, || (last_change().ok()? > before).then_some(()));
            network.set(Fault::None);
            let result = join(under_way)?;
            changed?;
            result.context(name)
        })?;
    }
    Ok(())
}

/// Commands read the store before they get the change lock. So a command must detect changes that
/// are committed between the read and the lock.
pub fn changes_before_a_command_gets_the_lock_are_not_ignored(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    account_and_key(&*database.commands()?)?;
    import(&*database.commands()?, [1, 2, 3])?;
    let cancel = "UPDATE orders SET status = 'cancelled', cancelled_at = '2026-01-01T00:00:00Z',
                      cancelled_by = 'key_1', change_number = (SELECT max(change_number) + 1 FROM changes)
                  WHERE id = 1;
                  INSERT INTO changes (change_number, orders, keys)
                  SELECT change_number + 1, change_number + 1, keys FROM changes ORDER BY change_number DESC LIMIT 1";
    let close = "UPDATE accounts SET closed_at = '2026-01-01T00:00:00Z',
                     change_number = (SELECT max(change_number) + 1 FROM changes);
                 INSERT INTO changes (change_number, orders, keys)
                 SELECT change_number + 1, orders, change_number + 1 FROM changes ORDER BY change_number DESC LIMIT 1";
    let after =
        |change: &str, command: &(dyn Fn(&dyn OperatorStore) -> Result<(), StoreError> + Sync)| {
            std::thread::scope(|scope| {
                let under_way =
                    database.before_commit(&format!("{LOCK_CHANGES}; {change}"), || {
                        let under_way = scope
                            .spawn(|| -> anyhow::Result<_> { Ok(command(&*database.commands()?)) });
                        database.wait_for_lock()?;
                        Ok(under_way)
                    })?;
                join(under_way)?
            })
        };
    // Order 1 makes the whole command fail, so order 2 is not shipped either.
    let refused = refusal(after(cancel, &|store| store.ship_orders(&[1, 2]).map(drop))?)?;
    ensure!(refused.contains("order 1 is cancelled"), "{refused}");
    let order = database.commands()?.order(2)?.context("order 2 is missing")?;
    ensure!(order.status == OrderStatus::Pending, "{order:?}");
    // A concurrent change of a different order has no effect on the command.
    let other = cancel.replace("id = 1", "id = 2");
    after(&other, &|store| store.ship_orders(&[3]).map(drop))??;
    let refused =
        refusal(after(close, &|store| store.issue_key(&new_key("acme"), NOW_MS).map(drop))?)?;
    ensure!(refused.contains("is closed"), "{refused}");
    ensure!(database.commands()?.key_records()?.len() == 1);
    let problems = database.commands()?.check()?.problems;
    ensure!(problems.is_empty(), "{problems:?}");
    Ok(())
}

pub fn a_name_with_a_nul_character_is_refused(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let commands = server.new_store()?.commands()?;
    let pets = [Pet { id: 1, name: "Rex".into() }, Pet { id: 2, name: "R\0x".into() }];
    let refused = refusal(commands.import(Records::Pets(&pets), false))?;
    ensure!(refused.contains("the name of pet 2 has a NUL character"), "{refused}");
    ensure!(commands.existing(RecordKind::Pet, &[1, 2])?.is_empty());
    Ok(())
}
