//! What the operator's commands ask of a store.

use super::account_rows::{Account, IssuedKey, KeyRecord, NewKey, Rotation};
use super::error::StoreError;
use super::order_rows::{ImportOutcome, NewOrder, Status, StoredOrder};
use super::report::CheckReport;
use crate::keys::Digest;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;

/// Called once by a command that has waited for longer than two seconds to write.
pub type WaitNotice = fn();

/// A store, as one command works on it. Every method blocks; each that writes does all that
/// it was asked, or nothing.
pub trait OperatorStore {
    /// The store's id: 128 random bits in hex. A restored store has another one.
    fn id(&self) -> Result<String, StoreError>;

    /// Which of these orders are in the store already, in their order, cancelled ones
    /// included.
    fn existing_orders(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError>;

    /// Which of these pets are in the store already, in their order.
    fn existing_pets(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError>;

    /// Stores all of these orders or none. An id that is in the store already is
    /// refused, or skipped with `skip_existing`. `progress` is called once per order.
    fn import_orders(
        &self,
        orders: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError>;

    /// The same for pets.
    fn import_pets(
        &self,
        pets: &[Pet],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError>;

    /// Marks all of these orders as shipped, or none: from then on they cannot be
    /// cancelled. One that has shipped already is left as it is. Returns those that were
    /// marked.
    fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError>;

    /// The order of this id, in any status.
    fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError>;

    /// The next orders with this id or a higher one, or those of one status, in ascending
    /// order of id: a page of them, and none after the last.
    fn orders_from(
        &self,
        first: i64,
        status: Option<Status>,
    ) -> Result<Vec<StoredOrder>, StoreError>;

    /// Visits every order in ascending order of id, or those of one status, until `visit`
    /// breaks. They are read in pages, each as of its own moment, so that a slow visitor
    /// holds up neither a checkpoint nor the removal of old rows.
    fn for_each_order(
        &self,
        status: Option<Status>,
        visit: &mut dyn FnMut(StoredOrder) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut from = Some(i64::MIN);
        while let Some(first) = from {
            let page = self.orders_from(first, status)?;
            from = page.last().and_then(|order| order.id.checked_add(1));
            for order in page {
                if visit(order).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Creates an account. `own` are the limits of an Enterprise account, and of no other.
    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;

    /// Gives an account another name, which no other account may have.
    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError>;

    /// Closes an account for good, and revokes those of its keys that are not revoked: their
    /// number is returned. A second time changes nothing. It keeps its name.
    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<u64, StoreError>;

    /// Moves an account to another plan: its limits hold from the next request.
    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError>;

    /// Every account, by name. `now_ms` tells which of their keys have expired.
    fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError>;

    /// The account of this name.
    fn account(&self, name: &str, now_ms: i64) -> Result<Account, StoreError>;

    /// Issues a key for an account that is not closed. The store keeps its digest; only the
    /// returned value has the key itself.
    fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError>;

    /// Issues the successor of a key, which itself stays valid for the overlap.
    fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError>;

    /// Revokes a key for good. A second time changes nothing.
    fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError>;

    /// Lifts the ban of a key, if it is banned. The moment of lifting rises each time,
    /// also if the wall clock was set back.
    fn unban_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError>;

    /// Every key that was ever issued, the oldest first.
    fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError>;

    /// The key of this digest, if it was ever issued.
    fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError>;

    /// What the store holds, and what is wrong with it, as of one moment.
    fn check(&self) -> Result<CheckReport, StoreError>;

    /// Waits until no server answers any more as of before the last change. On an embedded
    /// engine none does.
    fn await_servers(&self) {}
}
