//! Conformance cases for a new store, the report of `check`, and readiness.

use crate::engine::Engine;
use crate::listing::{keys, last_changes, list};
use crate::records::{NOW_MS, account_and_key, cancel, import, new_key, pending};
use anyhow::ensure;
use store_orders::clock::BootInstant;
use store_orders::store::{CheckReport, Order, OrderCounts, Records, Structure};
use store_orders_api::types::{MAX_ID, Pet};

pub fn a_new_store_is_empty_ready_and_sound(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let id = commands.id()?;
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    ensure!(id.len() == 32 && id.chars().all(is_hex), "{id}");
    ensure!(commands.id()? == id && engine.commands()?.id()? == id);
    ensure!(list(&store)?.is_empty() && keys(&store)?.is_empty() && store.pet(1)?.is_none());
    ensure!(commands.order(1)?.is_none() && commands.key_records()?.is_empty());
    ensure!(commands.accounts(NOW_MS)?.is_empty());
    let empty = CheckReport {
        orders: Some(OrderCounts::default()),
        orders_change_number: Some(0),
        keys_change_number: Some(0),
        pets: Some(0),
        accounts: Some(0),
        keys: Some(0),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    ensure!(commands.check()? == empty);
    ensure!(
        last_changes(&store)?.orders.is_beginning() && last_changes(&store)?.keys.is_beginning()
    );
    store.require_ready()?;
    store.try_write()?;
    ensure!(last_changes(&store)?.orders.is_beginning(), "`try_write` changed the store");
    ensure!(!matches!(store.quick_check()?, Structure::Damaged(_)));
    let polled = store.poll_changes()?;
    ensure!(polled.as_of <= BootInstant::now() && polled.last_changes == last_changes(&store)?);
    Ok(())
}

pub fn check_counts_the_rows_of_the_store(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=5)?;
    commands.ship_orders(&[1, 2])?;
    cancel(&store, &[3])?;
    commands.import(Records::Pets(&[Pet { id: 1, name: "Rex".to_string() }]), false)?;
    account_and_key(&*commands)?;
    commands.issue_key(&new_key("acme"), NOW_MS)?;
    let orders = OrderCounts { pending: 2, shipped: 2, cancelled: 1 };
    let report = commands.check()?;
    let stored = last_changes(&store)?;
    let expected = CheckReport {
        orders: Some(orders),
        orders_change_number: Some(stored.orders.number),
        keys_change_number: Some(stored.keys.number),
        pets: Some(1),
        accounts: Some(1),
        keys: Some(2),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    ensure!(report == expected, "{report:?}");
    Ok(())
}

/// Earlier releases imported ids that JavaScript rounds, so stores may contain such ids.
pub fn check_warns_of_ids_that_javascript_rounds(engine: &dyn Engine) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    import(&*commands, [-MAX_ID, 1, MAX_ID])?;
    commands.import(Records::Pets(&[Pet { id: MAX_ID, name: "Rex".to_string() }]), false)?;
    ensure!(commands.check()?.warnings.is_empty());
    import(&*commands, [i64::MIN, -MAX_ID - 1, MAX_ID + 1])?;
    let of_pet = Order { pet_id: i64::MAX, ..pending(2) };
    commands.import(Records::Orders(&[of_pet]), false)?;
    commands.import(Records::Pets(&[Pet { id: i64::MIN, name: "Rex".to_string() }]), false)?;
    let report = commands.check()?;
    ensure!(report.problems.is_empty(), "{report:?}");
    let rows = report.warnings.iter().filter_map(|warning| {
        let (column, rest) = warning.split_once(" is not from -(2^53-1) to 2^53-1 ")?;
        Some((column, rest.split_once(" in ")?.1.split_once(". ")?.0))
    });
    let expected = [
        ("orders: id", "-9223372036854775808, -9007199254740992, 9007199254740992"),
        ("orders: pet_id", "2"),
        ("pets: id", "-9223372036854775808"),
    ];
    ensure!(rows.eq(expected), "{:?}", report.warnings);
    Ok(())
}
