//! What the operator's commands ask of the store: each method's statements are in the file
//! of its rows.

use super::SqliteStore;
use super::check::examine;
use super::connection::connect;
use crate::keys::Digest;
use crate::store::{
    Account, CheckReport, ImportOutcome, IssuedKey, KeyRecord, NewKey, NewOrder, OperatorStore,
    Rotation, Status, StoreError, StoredOrder,
};
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;

impl OperatorStore for SqliteStore {
    fn id(&self) -> Result<String, StoreError> {
        self.id()
    }

    fn existing_orders(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        self.existing_orders(ids)
    }

    fn existing_pets(&self, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        self.existing_pets(ids)
    }

    fn import_orders(
        &self,
        orders: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        self.import_orders(orders, skip_existing, progress)
    }

    fn import_pets(
        &self,
        pets: &[Pet],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        self.import_pets(pets, skip_existing, progress)
    }

    fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
        self.ship_orders(ids)
    }

    fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        self.order(id)
    }

    fn orders_from(
        &self,
        first: i64,
        status: Option<Status>,
    ) -> Result<Vec<StoredOrder>, StoreError> {
        self.orders_from(first, status)
    }

    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.create_account(name, plan, own, at)
    }

    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError> {
        self.rename_account(name, new_name)
    }

    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<u64, StoreError> {
        self.close_account(name, at)
    }

    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError> {
        self.set_plan(name, plan, own)
    }

    fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError> {
        self.accounts(now_ms)
    }

    fn account(&self, name: &str, now_ms: i64) -> Result<Account, StoreError> {
        self.account(name, now_ms)
    }

    fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        self.issue_key(new, now_ms)
    }

    fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        self.rotate_key(rotation, now_ms)
    }

    fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        self.revoke_key(key_id, now_ms)
    }

    fn unban_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        self.unban_key(key_id, now_ms)
    }

    fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError> {
        self.key_records()
    }

    fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError> {
        self.key_record(digest)
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        Ok(examine(&connect(self.path())?))
    }
}
