//! Tests that the entity tag of the list is the same on every server, and changes only when the
//! list changes.

use crate::ServedStore;
use crate::engine::Engine;
use crate::records::{account_and_key, cancel, import};
use anyhow::ensure;
use slog::{Discard, Logger, o};
use store_orders::metrics::batch_sizes;
use store_orders::orders::OrderList;

struct Server {
    orders: OrderList,
    store: ServedStore,
}

impl Server {
    fn start(engine: &dyn Engine) -> anyhow::Result<Server> {
        let log = Logger::root(Discard, o!());
        let store = engine.server_store()?;
        let opened = OrderList::open(store.store.clone(), batch_sizes()?, 1_000_000, &log);
        Ok(Server { orders: store.wait(opened)?, store })
    }

    fn tag(&self) -> anyhow::Result<String> {
        let tag = || -> anyhow::Result<String> {
            Ok(self.store.wait(self.orders.list())?.tag().to_str()?.to_string())
        };
        let (first, second) = (tag()?, tag()?);
        ensure!(first == second, "{first}, then {second}");
        Ok(first)
    }
}

pub fn a_list_has_one_tag_on_every_server_until_an_order_changes(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    import(&*commands, [1, 2, 3, 4])?;
    let (one, other) = (Server::start(engine)?, Server::start(engine)?);
    let tag = |what: &str| -> anyhow::Result<String> {
        let (one, other, new) = (one.tag()?, other.tag()?, Server::start(engine)?.tag()?);
        ensure!(one == other && one == new, "{what}: {one}, {other}, after a restart {new}");
        Ok(one)
    };
    let mut tags = vec![tag("an import")?];
    account_and_key(&*commands)?;
    ensure!(Some(&tag("a new key")?) == tags.first(), "a new key changes the tag");
    cancel(&engine.server_store()?, &[1])?;
    tags.push(tag("a cancellation of another server")?);
    // Version 1 of the API shows no status, so shipping an order does not change the list.
    commands.ship_orders(&[2])?;
    ensure!(Some(&tag("a shipment")?) == tags.last(), "a shipment changes the tag");
    import(&*commands, [5])?;
    tags.push(tag("a second import")?);
    let distinct: std::collections::BTreeSet<_> = tags.iter().collect();
    ensure!(distinct.len() == tags.len(), "a tag came again: {tags:?}");
    Ok(())
}
