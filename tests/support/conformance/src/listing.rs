//! Reads orders, accounts and keys as a server does. Also reads orders as an operator's command
//! does.

use crate::ServedStore;
use anyhow::Context;
use futures::executor::block_on;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use store_orders::api_key::Digest;
use store_orders::store::{
    Account, KeyChange, KeyRecord, LastChanges, OperatorStore, Order, OrderStatus, OrdersRead,
    PolledKeys, Position, Status,
};
use store_orders_api::v1;

/// Queries the last changes, as a server does for a list request.
pub fn last_changes(store: &ServedStore) -> anyhow::Result<LastChanges> {
    Ok(block_on(store.query_freshness(None)?.wait())?.last_changes)
}

fn format_change(order: &Order) -> anyhow::Result<(i64, String)> {
    let json = serde_json::to_string(&v1::Order::from(order))?;
    let text = match order.status {
        OrderStatus::Pending => json,
        OrderStatus::Shipped => json + " shipped",
        OrderStatus::Cancelled(_) => format!("-{}", order.id),
    };
    Ok((order.id, text))
}

pub fn changes_since(
    store: &ServedStore,
    after: Position,
) -> anyhow::Result<(Vec<(i64, String)>, OrdersRead)> {
    let (orders, read) = store.orders_since(after)?;
    let changes = orders.iter().map(format_change);
    let changes = changes.collect::<anyhow::Result<Vec<_>>>()?;
    anyhow::ensure!(changes.is_sorted_by(|a, b| a.0 < b.0), "ids do not rise: {changes:?}");
    Ok((changes, read))
}

/// Returns the ids of the orders that changed since the position `after`. The id of a cancelled
/// order is negated.
pub fn changed_ids(store: &ServedStore, after: Position) -> anyhow::Result<Vec<i64>> {
    let changes = changes_since(store, after)?.0;
    Ok(changes.iter().map(|(id, text)| if text.starts_with('-') { -id } else { *id }).collect())
}

pub fn beginning(store: &ServedStore) -> anyhow::Result<Position> {
    Ok(Position::beginning(last_changes(store)?.orders.history))
}

pub type AccountsAndKeys = (BTreeMap<i64, Account>, HashMap<Digest, KeyRecord>);

pub fn keys_since(
    store: &ServedStore,
    after: Position,
) -> anyhow::Result<(AccountsAndKeys, Position)> {
    let (mut accounts, mut keys) = (BTreeMap::new(), HashMap::new());
    let PolledKeys { polled, changes } = store.poll_keys(Some(after))?;
    let last_read = polled.last_changes.keys;
    if last_read.has_more_than(after) {
        for change in changes.context("there are too many changes")? {
            match change {
                KeyChange::Account(account) => drop(accounts.insert(account.id, account)),
                KeyChange::Key(record) => drop(keys.insert(record.key.digest, record)),
            }
        }
    }
    Ok(((accounts, keys), last_read))
}

/// Reads all accounts, keyed by id, with the query that servers use for changed accounts.
pub fn accounts(store: &ServedStore) -> anyhow::Result<BTreeMap<i64, Account>> {
    Ok(keys_since(store, beginning(store)?)?.0.0)
}

/// Reads all keys with the query that servers use for changed keys.
pub fn keys(store: &ServedStore) -> anyhow::Result<HashMap<Digest, KeyRecord>> {
    Ok(keys_since(store, beginning(store)?)?.0.1)
}

/// Reads the whole list, as a server does when it starts. Each string is an order in the format of
/// `format_change`.
pub fn list(store: &ServedStore) -> anyhow::Result<Vec<String>> {
    let changes = changes_since(store, beginning(store)?)?.0;
    Ok(changes.into_iter().map(|(_, text)| text).collect())
}

pub fn stored(commands: &dyn OperatorStore, status: Option<Status>) -> anyhow::Result<Vec<Order>> {
    let mut orders = Vec::new();
    commands.for_each_order(status, &mut |order| {
        orders.push(order);
        ControlFlow::Continue(())
    })?;
    Ok(orders)
}

/// Reads all orders as an operator's command does. Returns each order as JSON.
pub fn stored_lines(commands: &dyn OperatorStore) -> anyhow::Result<Vec<String>> {
    let orders = stored(commands, None)?;
    Ok(orders.iter().map(serde_json::to_string).collect::<Result<_, _>>()?)
}

/// A copy of the list of orders. Like a server's list, the copy is updated only with the changes
/// since the last read.
pub struct Follower {
    reached: Position,
    list: BTreeMap<i64, String>,
}

impl Follower {
    /// Creates an empty list. The first `catch_up` reads every order.
    pub fn new(store: &ServedStore) -> anyhow::Result<Follower> {
        Ok(Follower { reached: beginning(store)?, list: BTreeMap::new() })
    }

    pub fn catch_up(&mut self, store: &ServedStore) -> anyhow::Result<()> {
        loop {
            let (changes, read) = changes_since(store, self.reached)?;
            self.reached = read.reached;
            for (id, text) in changes {
                if text.starts_with('-') {
                    self.list.remove(&id);
                } else {
                    self.list.insert(id, text);
                }
            }
            if read.is_all {
                return Ok(());
            }
        }
    }

    /// Returns the orders in the format of the function `list`.
    pub fn lines(&self) -> Vec<String> {
        self.list.values().cloned().collect()
    }
}
