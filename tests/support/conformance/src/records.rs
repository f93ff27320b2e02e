//! Test records: orders, keys and cancellations.

use crate::ServedStore;
use chrono::{DateTime, Utc};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::api_key::Environment;
use store_orders::store::{
    CancelOutcome, Cancellation, IssuedKey, NewKey, OperatorStore, Order, OrderStatus, Records,
};
use store_orders_api::plans::Plan;

/// The time from creating a cancellation to its deadline. No case takes that long, so no
/// cancellation expires.
const TIME_TO_DEADLINE: Duration = Duration::from_secs(600);

/// 2026-12-24T09:30:00Z, in Unix milliseconds.
pub const NOW_MS: i64 = 1_798_104_600_000;

pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(NOW_MS).unwrap_or_default()
}

pub fn pending(id: i64) -> Order {
    Order::new(id, 7, 1)
}

pub fn shipped(id: i64) -> Order {
    Order { status: OrderStatus::Shipped, ..pending(id) }
}

pub fn import(
    commands: &dyn OperatorStore,
    ids: impl IntoIterator<Item = i64>,
) -> anyhow::Result<()> {
    let orders: Vec<_> = ids.into_iter().map(pending).collect();
    commands.import(Records::Orders(&orders), false)?;
    Ok(())
}

pub fn new_key(account: &str) -> NewKey<'_> {
    NewKey { account, environment: Environment::Production, expires_after: None, label: None }
}

pub fn account_and_key(commands: &dyn OperatorStore) -> anyhow::Result<IssuedKey> {
    commands.create_account("acme", Plan::Free, None, now())?;
    Ok(commands.issue_key(&new_key("acme"), NOW_MS)?)
}

pub fn cancellation(order_id: i64) -> Cancellation {
    let deadline = Instant::now() + TIME_TO_DEADLINE;
    let key_id = Arc::from("key_1");
    Cancellation { order_id, key_id, at: now(), deadline, unchanged_since: None }
}

/// Cancels these orders in one batch. Fails if a cancellation was not executed before its deadline.
pub fn cancel(store: &ServedStore, ids: &[i64]) -> anyhow::Result<Vec<CancelOutcome>> {
    let batch: Vec<_> = ids.iter().copied().map(cancellation).collect();
    let outcomes = store.cancel(&batch)?.outcomes.into_iter();
    Ok(outcomes.collect::<Result<_, _>>()?)
}

pub fn refusal<T, E: std::fmt::Display>(result: Result<T, E>) -> anyhow::Result<String> {
    match result {
        Ok(_) => anyhow::bail!("it was not refused"),
        Err(error) => Ok(error.to_string()),
    }
}
