//! Orders, keys and cancellations to store.

use crate::ServedStore;
use anyhow::Context;
use chrono::{DateTime, Utc};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::keys::Environment;
use store_orders::store::{
    CancelOutcome, Cancellation, IssuedKey, NewKey, NewOrder, OperatorStore, Records,
};
use store_orders_api::plans::Plan;

/// Longer than any case takes.
const DEADLINE: Duration = Duration::from_secs(600);

/// 2026-12-24T09:30:00Z, in Unix milliseconds.
pub const NOW_MS: i64 = 1_798_104_600_000;

/// The instant of [`NOW_MS`].
pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(NOW_MS).unwrap_or_default()
}

/// A pending order of this id.
pub fn pending(id: i64) -> NewOrder {
    let (ship_date, complete, shipped) = (None, false, false);
    NewOrder { id, pet_id: 7, quantity: 1, ship_date, complete, shipped }
}

/// An order of this id that has shipped.
pub fn shipped(id: i64) -> NewOrder {
    NewOrder { shipped: true, ..pending(id) }
}

/// Imports pending orders of these ids.
pub fn import(
    commands: &dyn OperatorStore,
    ids: impl IntoIterator<Item = i64>,
) -> anyhow::Result<()> {
    let orders: Vec<_> = ids.into_iter().map(pending).collect();
    commands.import(Records::Orders(&orders), false)?;
    Ok(())
}

/// A key of this account, for production, without an end and a label.
pub fn new_key(account: &str) -> NewKey<'_> {
    NewKey { account, environment: Environment::Production, expires_after: None, label: None }
}

/// Creates the account `acme` with such a key.
pub fn account_and_key(commands: &dyn OperatorStore) -> anyhow::Result<IssuedKey> {
    commands.create_account("acme", Plan::Free, None, now())?;
    Ok(commands.issue_key(&new_key("acme"), NOW_MS)?)
}

/// A request to cancel this order, which `key_1` made then.
pub fn cancellation(order_id: i64) -> Cancellation {
    let deadline = Instant::now() + DEADLINE;
    Cancellation { order_id, key_id: Arc::from("key_1"), at: now(), deadline }
}

/// The outcomes of a batch that cancels these orders, which has time left.
pub fn cancel(store: &ServedStore, ids: &[i64]) -> anyhow::Result<Vec<CancelOutcome>> {
    let batch: Vec<_> = ids.iter().copied().map(cancellation).collect();
    store
        .cancel(&batch)?
        .outcomes
        .into_iter()
        .map(|outcome| outcome.context("it expired"))
        .collect()
}

/// What an operation that must be refused says.
pub fn refusal<T, E: std::fmt::Display>(result: Result<T, E>) -> anyhow::Result<String> {
    match result {
        Ok(_) => anyhow::bail!("it was not refused"),
        Err(error) => Ok(error.to_string()),
    }
}
