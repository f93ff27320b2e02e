//! Tests commands on a corrupt store. `check` must report the problems. If `change_lock` has no
//! row, commands must not write, because they cannot take the lock.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::records::{import, now, refusal};
use anyhow::ensure;
use store_orders_api::plans::Plan;

pub fn check_reports_corrupt_rows(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands()?;
    import(&*commands, 1..=30)?;
    commands.create_account("acme", Plan::Free, None, now())?;
    ensure!(commands.check()?.problems.is_empty());
    database.execute(
        "UPDATE orders SET ship_date = '2026-02-30T00:00:00Z';
         UPDATE orders SET status = 'cancelled', cancelled_by = 'key_1', cancelled_at = 'now'
         WHERE id = 7;
         UPDATE accounts SET created_at = '2026-12-24T09:30:00+01:00';
         DELETE FROM identity; DELETE FROM change_lock",
    )?;
    let report = commands.check()?;
    let problems = report.problems.join("\n");
    for expected in [
        "orders: ship_date of 1 is not a date in UTC: \"2026-02-30T00:00:00Z\"",
        "orders: cancelled_at of 7 is not a date in UTC: \"now\"",
        "accounts: created_at of 1 is not a date in UTC: \"2026-12-24T09:30:00+01:00\"",
        "identity: 0 rows instead of one",
        "change_lock: 0 rows instead of one",
    ] {
        ensure!(problems.contains(expected), "{expected} is not in:\n{problems}");
    }
    ensure!(report.problems.len() == 24, "20 of 30 ship dates are shown:\n{problems}");
    ensure!(report.orders.is_some_and(|orders| (orders.pending, orders.cancelled) == (29, 1)));
    database.execute("UPDATE orders SET change_number = 9999999999 WHERE id = 1")?;
    let problems = commands.check()?.problems.join("\n");
    let behind = "the change number of orders is 2, behind 9999999999 of an order";
    ensure!(problems.contains(behind), "{problems}");
    database.execute("UPDATE accounts SET change_number = 9999999999")?;
    let problems = commands.check()?.problems.join("\n");
    let behind = "the change number of keys is 3, behind 9999999999 of an account";
    ensure!(problems.contains(behind), "{problems}");
    database.execute("DELETE FROM changes")?;
    let problems = commands.check()?.problems.join("\n");
    ensure!(problems.contains("changes: the journal has no row"), "{problems}");
    Ok(())
}

pub fn a_missing_lock_row_is_an_error(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands()?;
    import(&*commands, [1])?;
    database.execute("DELETE FROM change_lock")?;
    let refusals = [
        refusal(import(&*commands, [2]))?,
        refusal(commands.ship_orders(&[1]))?,
        refusal(commands.create_account("acme", Plan::Free, None, now()))?,
    ];
    for refused in refusals {
        ensure!(refused.contains("0 rows instead of one"), "{refused}");
    }
    ensure!(commands.order(2)?.is_none() && commands.accounts(0)?.is_empty());
    Ok(())
}
