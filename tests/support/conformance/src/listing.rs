//! Reads the list and its changes like a server.

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

/// Queries the last changes, as a server does for each list request.
pub fn last_changes(store: &ServedStore) -> anyhow::Result<LastChanges> {
    Ok(block_on(store.query_freshness(None)?.wait())?.last_changes)
}

/// Returns the id of the changed order and a text. The text is the order's JSON of v1, with the
/// word `shipped` after it if the order has shipped. If the order is no longer listed, the text is
/// `-` and the id.
fn format_change(order: &Order) -> anyhow::Result<(i64, String)> {
    let json = serde_json::to_string(&v1::Order::from(order))?;
    let text = match order.status {
        OrderStatus::Pending => json,
        OrderStatus::Shipped => json + " shipped",
        OrderStatus::Cancelled(_) => format!("-{}", order.id),
    };
    Ok((order.id, text))
}

/// Returns the changes after `after`, in the order in which the store sends them, and the last
/// change that was read.
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

/// Returns the ids of orders that changed after `after`. The ids of orders that are no longer
/// listed are negated.
pub fn changed_ids(store: &ServedStore, after: Position) -> anyhow::Result<Vec<i64>> {
    let changes = changes_since(store, after)?.0;
    Ok(changes.iter().map(|(id, text)| if text.starts_with('-') { -id } else { *id }).collect())
}

/// The position before the first change of the store's current history.
pub fn beginning(store: &ServedStore) -> anyhow::Result<Position> {
    Ok(Position::beginning(last_changes(store)?.orders.history))
}

/// Accounts by id, and keys by digest.
pub type AccountsAndKeys = (BTreeMap<i64, Account>, HashMap<Digest, KeyRecord>);

/// Returns the accounts and keys that changed after `after`, and the last change that was read.
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

/// All accounts by id.
pub fn accounts(store: &ServedStore) -> anyhow::Result<BTreeMap<i64, Account>> {
    Ok(keys_since(store, beginning(store)?)?.0.0)
}

/// All keys by digest.
pub fn keys(store: &ServedStore) -> anyhow::Result<HashMap<Digest, KeyRecord>> {
    Ok(keys_since(store, beginning(store)?)?.0.1)
}

/// The whole list, one line per order.
pub fn list(store: &ServedStore) -> anyhow::Result<Vec<String>> {
    let changes = changes_since(store, beginning(store)?)?.0;
    Ok(changes.into_iter().map(|(_, text)| text).collect())
}

/// Reads all orders, or only the orders with this status, like an operator's command.
pub fn stored(commands: &dyn OperatorStore, status: Option<Status>) -> anyhow::Result<Vec<Order>> {
    let mut orders = Vec::new();
    commands.for_each_order(status, &mut |order| {
        orders.push(order);
        ControlFlow::Continue(())
    })?;
    Ok(orders)
}

/// All orders as an operator's command reads them, one line of JSON per order.
pub fn stored_lines(commands: &dyn OperatorStore) -> anyhow::Result<Vec<String>> {
    let orders = stored(commands, None)?;
    Ok(orders.iter().map(serde_json::to_string).collect::<Result<_, _>>()?)
}

/// A list that is kept current by reading only changes, like a server's list.
pub struct Follower {
    reached: Position,
    list: BTreeMap<i64, String>,
}

impl Follower {
    /// Creates a list without content.
    pub fn new(store: &ServedStore) -> anyhow::Result<Follower> {
        Ok(Follower { reached: beginning(store)?, list: BTreeMap::new() })
    }

    /// Reads the changes since the last call.
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

    /// The orders, one line per order.
    pub fn lines(&self) -> Vec<String> {
        self.list.values().cloned().collect()
    }
}
