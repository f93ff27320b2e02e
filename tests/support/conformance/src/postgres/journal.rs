//! Tests of the journal of changes: a restore while a server runs, and the removal of old rows.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::listing::{changed_ids, last_changes, list};
use crate::records::{cancel, import};
use anyhow::ensure;
use store_orders::store::CancelOutcome;
use testbed::{WAIT_TIMEOUT, wait_blocking};

pub fn rows_that_are_restored_under_a_server_are_read_again(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_store()?, database.commands()?);
    import(&*commands, 1..=3)?;
    database.execute(
        "CREATE TABLE saved_orders AS SELECT * FROM orders;
         CREATE TABLE saved_changes AS SELECT * FROM changes",
    )?;
    ensure!(cancel(&store, &[1])? == [CancelOutcome::Cancelled]);
    let before = last_changes(&store)?;
    // Restore a backup that lacks the cancellation. The next change then gets the same number as
    // the lost cancellation.
    database.execute(
        "BEGIN; DELETE FROM orders; INSERT INTO orders SELECT * FROM saved_orders;
         DELETE FROM changes; INSERT INTO changes SELECT * FROM saved_changes; COMMIT",
    )?;
    commands.ship_orders(&[2])?;
    let after = wait_blocking("another history is seen", WAIT_TIMEOUT, || {
        let after = store.poll_changes().ok()?.last_changes;
        (after.orders.history > before.orders.history).then_some(after)
    })?;
    ensure!(after.orders.number == before.orders.number, "{after:?}");
    ensure!(list(&store)?.len() == 3);
    Ok(())
}

pub fn old_changes_are_removed_except_the_last(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_store()?, database.commands()?);
    for id in 1..=3 {
        import(&*commands, [id])?;
    }
    let before = last_changes(&store)?;
    database.execute("UPDATE changes SET made_at = now() - interval '11 minutes'")?;
    wait_blocking("one row is left", WAIT_TIMEOUT, || {
        let count: i64 = database.value("SELECT count(*) FROM changes", &[]).ok()?;
        (count == 1).then_some(())
    })?;
    ensure!(last_changes(&store)? == before && store.poll_changes()?.last_changes == before);
    import(&*commands, [4])?;
    ensure!(changed_ids(&store, before.orders)? == [4]);
    Ok(())
}

pub fn the_last_change_that_servers_have_seen_is_kept(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_store()?, database.commands()?);
    for id in 1..=3 {
        import(&*commands, [id])?;
    }
    let before = last_changes(&store)?.orders;
    let lowest = || database.value::<i64>("SELECT min(change_number) FROM changes", &[]);
    let first = lowest()?;
    // Make all changes old, and add a new one. The last old change must be kept, because a server
    // may have seen no newer change.
    database.execute(
        "BEGIN; UPDATE changes SET made_at = now() - interval '11 minutes';
         INSERT INTO changes (change_number, orders, keys)
         SELECT change_number + 1, orders, keys FROM changes ORDER BY change_number DESC LIMIT 1; COMMIT",
    )?;
    let oldest = wait_blocking("old changes are removed", WAIT_TIMEOUT, || {
        lowest().ok().filter(|lowest| *lowest > first)
    })?;
    ensure!(oldest == before.number, "{oldest} instead of {before:?}");
    Ok(())
}

/// The restored journal lacks the last change that the server saw. The server must refuse the
/// journal's answer, although the journal's change number is higher.
pub fn a_list_after_a_restore_is_refused(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_store()?, database.commands()?);
    import(&*commands, 1..=3)?;
    let before = last_changes(&store)?;
    // Use one transaction, so that the session cannot query the journal between the two statements.
    database.execute(
        "BEGIN; UPDATE changes SET id = gen_random_uuid();
         INSERT INTO changes (change_number, orders, keys)
         SELECT change_number + 1, change_number + 1, keys FROM changes ORDER BY change_number DESC LIMIT 1; COMMIT",
    )?;
    ensure!(last_changes(&store).is_err(), "the list was accepted");
    let after =
        wait_blocking("the journal is read again", WAIT_TIMEOUT, || last_changes(&store).ok())?;
    ensure!(after.orders.history > before.orders.history, "{after:?}");
    Ok(())
}
