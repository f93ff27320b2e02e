//! Imports that fail, and what waits for other changes.

use super::database::{LOCK_CHANGES, PostgresUnderTest};
use crate::engine::Engine;
use crate::records::{import, pending, refusal};
use crate::threads::joined;
use anyhow::{Context, ensure};
use std::ops::ControlFlow;
use store_orders::store::{RecordKind, Records, STEP_RECORDS, import_in_steps};
use store_orders_api::types::Pet;

pub fn an_import_whose_connection_is_lost_leaves_whole_steps(
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
    ensure!(lost.done.imported == STEP_RECORDS, "{lost:?}");
    let commands = database.commands()?;
    let found = commands.check()?;
    let pending = found.orders.map(|orders| orders.pending);
    ensure!(found.problems.is_empty() && pending == Some(STEP_RECORDS as i64), "{found:?}");
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
        joined(importing)?
    })?;
    ensure!(database.commands()?.order(1)?.is_some());
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
