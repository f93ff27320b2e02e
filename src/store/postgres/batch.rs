//! A batch of cancellations in one transaction, in one round trip.
//!
//! The transaction first locks the one row of `versions`, so that versions are committed in
//! their order, and each order that it cancels keeps the batch's id: after a lost answer the
//! same batch is sent again, and finds what it did.

use super::columns::{parsed, value};
use super::error::written;
use super::session::Session;
use super::statements::BatchStatements;
use crate::store::rules::not_cancelled;
use crate::store::{CancelOutcome, Cancellation, Status, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::types::utc_text;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Cancellations that are carried out together. Of those for the same order the first owns
/// the outcome.
pub struct Batch {
    id: String,
    orders: Vec<i64>,
    keys: Vec<Arc<str>>,
    times: Vec<String>,
    /// For each cancellation, whether it is the first for its order; none if it expired.
    owners: Vec<Option<(i64, bool)>>,
}

/// What a batch did.
pub struct Done {
    /// For each cancellation.
    pub outcomes: Vec<CancelOutcome>,
    /// The version of the orders that it cancelled; none if it cancelled none, or did so in
    /// an earlier attempt.
    pub version: Option<i64>,
}

impl Batch {
    /// Those that have not expired yet.
    pub fn of(cancellations: &[Cancellation], now: Instant) -> Batch {
        let id = format!("{:032x}", rand::random::<u128>());
        let (orders, keys, times, owners) = Default::default();
        let mut batch = Batch { id, orders, keys, times, owners };
        let mut known = HashMap::with_capacity(cancellations.len());
        for Cancellation { order_id, key_id, at, deadline } in cancellations {
            if *deadline <= now {
                batch.owners.push(None);
                continue;
            }
            let is_first = known.insert(*order_id, ()).is_none();
            batch.owners.push(Some((*order_id, is_first)));
            if is_first {
                batch.orders.push(*order_id);
                batch.keys.push(Arc::clone(key_id));
                batch.times.push(utc_text(at));
            }
        }
        batch
    }

    /// Whether all have expired.
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// Carries the batch out, or finds that it was. An error means that it may have been.
    pub async fn carry_out(&self, session: &Session) -> Result<Done, StoreError> {
        let (client, link) = (&session.writer.client, &session.writer.link);
        let BatchStatements { begin, lock, update, select, commit } = &session.batch;
        let keys: Vec<&str> = self.keys.iter().map(|key| &**key).collect();
        let orders_and_batch: [&(dyn ToSql + Sync); 2] = [&self.orders, &self.id];
        let all: [&(dyn ToSql + Sync); 4] = [&self.orders, &keys, &self.times, &self.id];
        let warnings = link.warnings();
        let (begun, locked, updated, selected, committed) = tokio::join!(
            client.execute(begin, &[]),
            client.query(lock, &[]),
            client.query(update, &all),
            client.query(select, &orders_and_batch),
            client.execute(commit, &[]),
        );
        begun.map_err(written)?;
        locked.map_err(written)?;
        let (updated, selected) = (updated.map_err(written)?, selected.map_err(written)?);
        committed.map_err(written)?;
        link.require_no_warning_since(warnings)?;
        let version = updated.first().map(|row| value(row, 0)).transpose()?;
        Ok(Done { outcomes: self.outcomes(&selected)?, version })
    }

    fn outcomes(&self, rows: &[Row]) -> Result<Vec<CancelOutcome>, StoreError> {
        let mut found = HashMap::with_capacity(rows.len());
        for row in rows {
            let (status, is_ours): (Status, bool) = (parsed(row, 1)?, value(row, 2)?);
            found.insert(value::<i64>(row, 0)?, (status, is_ours));
        }
        let outcome = |owner: &Option<(i64, bool)>| match owner {
            None => CancelOutcome::Expired,
            Some((id, is_first)) => match found.get(id) {
                Some((_, true)) if *is_first => CancelOutcome::Cancelled,
                found => not_cancelled(found.map(|(status, _)| *status)),
            },
        };
        Ok(self.owners.iter().map(outcome).collect())
    }

    /// What each has when all have expired.
    pub fn expired(&self) -> Vec<CancelOutcome> {
        vec![CancelOutcome::Expired; self.owners.len()]
    }
}
