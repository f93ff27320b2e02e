//! A new store, the report of `check`, and readiness.

use crate::engine::Engine;
use crate::listing::{keys, last_changes, list};
use crate::records::{NOW_MS, account_and_key, cancel, import, new_key};
use anyhow::ensure;
use store_orders::clock::BootInstant;
use store_orders::store::{CheckReport, OrderCounts, Records, Structure};
use store_orders_api::types::Pet;

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
    };
    ensure!(report == expected, "{report:?}");
    Ok(())
}
