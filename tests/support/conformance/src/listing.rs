//! The list and its changes, as a server reads them.

use crate::ServedStore;
use anyhow::Context;
use futures::executor::block_on;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use store_orders::keys::Digest;
use store_orders::store::{
    AccountRow, ChangeNumber, FreshnessReport, KeyChange, KeyRow, LastChanges, OperatorStore,
    OrderChange, OrdersRead, PolledKeys, Status, StoredOrder,
};

/// What a list is told.
pub fn latest(store: &ServedStore) -> anyhow::Result<FreshnessReport> {
    Ok(block_on(store.freshness(None)?.wait())?)
}

/// The last changes, as a list asks for them.
pub fn last_changes(store: &ServedStore) -> anyhow::Result<LastChanges> {
    Ok(latest(store)?.last_changes)
}

/// A change as text: the order as v1 sends it and, if so, that it has shipped; or its id after
/// `-`.
fn text(change: OrderChange<'_>) -> anyhow::Result<(i64, String)> {
    Ok(match change {
        OrderChange::Listed(order) => {
            let shipped = if order.is_shipped { " shipped" } else { "" };
            (order.id, serde_json::to_string(&order)? + shipped)
        }
        OrderChange::Removed(id) => (id, format!("-{id}")),
    })
}

/// The changes after this one, in the order in which they are told, and how far they lead.
pub fn changes_since(
    store: &ServedStore,
    after: ChangeNumber,
) -> anyhow::Result<(Vec<(i64, String)>, OrdersRead)> {
    let (orders, read) = store.orders_since(after)?;
    let changes = orders.iter().map(|order| text(order.change()));
    let changes = changes.collect::<anyhow::Result<Vec<_>>>()?;
    anyhow::ensure!(changes.is_sorted_by(|a, b| a.0 < b.0), "ids do not rise: {changes:?}");
    Ok((changes, read))
}

/// The ids that changed after this change; of an order that is listed no longer, negated.
pub fn changed_ids(store: &ServedStore, after: ChangeNumber) -> anyhow::Result<Vec<i64>> {
    let changes = changes_since(store, after)?.0;
    Ok(changes.iter().map(|(id, text)| if text.starts_with('-') { -id } else { *id }).collect())
}

/// Before the first change of the store's present generation.
pub fn beginning(store: &ServedStore) -> anyhow::Result<ChangeNumber> {
    Ok(ChangeNumber::beginning(last_changes(store)?.generation))
}

/// Accounts by their ids, and keys by their digests.
pub type AccountsAndKeys = (BTreeMap<i64, AccountRow>, HashMap<Digest, KeyRow>);

/// The accounts and keys that changed after this change, and the last change that they lead to.
pub fn keys_since(
    store: &ServedStore,
    after: ChangeNumber,
) -> anyhow::Result<(AccountsAndKeys, ChangeNumber)> {
    let (mut accounts, mut keys) = (BTreeMap::new(), HashMap::new());
    let PolledKeys { polled, changes } = store.poll_keys(Some(after))?;
    let reached = polled.last_changes.of_keys();
    if reached.has_more_than(after) {
        for change in changes.context("there are too many changes")? {
            match change {
                KeyChange::Account(account) => drop(accounts.insert(account.id, account)),
                KeyChange::Key(digest, key) => drop(keys.insert(digest, key)),
            }
        }
    }
    Ok(((accounts, keys), reached))
}

/// Every account, by its id.
pub fn accounts(store: &ServedStore) -> anyhow::Result<BTreeMap<i64, AccountRow>> {
    Ok(keys_since(store, beginning(store)?)?.0.0)
}

/// Every key.
pub fn keys(store: &ServedStore) -> anyhow::Result<HashMap<Digest, KeyRow>> {
    Ok(keys_since(store, beginning(store)?)?.0.1)
}

/// The whole list, a line for each order.
pub fn list(store: &ServedStore) -> anyhow::Result<Vec<String>> {
    let changes = changes_since(store, beginning(store)?)?.0;
    Ok(changes.into_iter().map(|(_, text)| text).collect())
}

/// Every order, as an operator lists them.
pub fn stored(
    commands: &dyn OperatorStore,
    status: Option<Status>,
) -> anyhow::Result<Vec<StoredOrder>> {
    let mut orders = Vec::new();
    commands.for_each_order(status, &mut |order| {
        orders.push(order);
        ControlFlow::Continue(())
    })?;
    Ok(orders)
}

/// Every order, as a line of JSON each.
pub fn stored_lines(commands: &dyn OperatorStore) -> anyhow::Result<Vec<String>> {
    let orders = stored(commands, None)?;
    Ok(orders.iter().map(serde_json::to_string).collect::<Result<_, _>>()?)
}

/// A server's list, which it keeps current by reading what changed.
pub struct Follower {
    reached: ChangeNumber,
    list: BTreeMap<i64, String>,
}

impl Follower {
    /// A list that has not read anything.
    pub fn of(store: &ServedStore) -> anyhow::Result<Follower> {
        Ok(Follower { reached: beginning(store)?, list: BTreeMap::new() })
    }

    /// Reads what changed since the last time.
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

    /// Its orders, a line each.
    pub fn lines(&self) -> Vec<String> {
        self.list.values().cloned().collect()
    }
}
