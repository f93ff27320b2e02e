//! The operator's commands on accounts.

use super::engine::{Engine, Scope};
use crate::store::account_rows::{AccountPlan, read_counted_account, select_accounts};
use crate::store::row::{Field, StoredRow};
use crate::store::rules::{
    account_closed, account_exists, account_name, limits_in_force, no_account,
};
use crate::store::statements::{Parameters, Statements, UNASSIGNED};
use crate::store::value::Parameter;
use crate::store::{Account, StoreError};
use chrono::{DateTime, Utc};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;

pub trait AccountCommands {
    /// Creates an account. `own` contains the limits of an Enterprise account, and must be `None`
    /// for every other plan. Fails if an account has this name, even a closed one.
    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;

    /// Renames an account. Fails if another account has the new name.
    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError>;

    /// Closes an account for good, so that servers refuse all its keys. Returns how many of its
    /// keys had not been revoked, or 0 if the account was already closed. The name stays taken.
    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<i64, StoreError>;

    /// Moves an account to another plan. A running server applies the new limits within a second.
    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError>;

    /// Returns every account, sorted by name, with the number of its keys that are valid at
    /// `now_ms`. A closed account has no valid keys.
    fn accounts(&self, now_ms: i64) -> Result<Vec<(Account, i64)>, StoreError>;

    /// Returns the name of the account with this name or this id. Accepts ids because logs show
    /// them. If one account has the name and another has the id, the name wins.
    fn resolve_account(&self, name_or_id: &str) -> Result<String, StoreError>;

    /// Returns an account and the number of its keys that are valid at `now_ms`.
    fn account(&self, name_or_id: &str, now_ms: i64) -> Result<(Account, i64), StoreError>;
}

impl<E: Engine> AccountCommands for E {
    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let plan = AccountPlan { name: plan, limits: limits_in_force(plan, own)? };
        let name = account_name(name)?;
        self.change(Scope::Keys, |statements| {
            if find_account(statements, name)?.is_some() {
                return Err(account_exists(name));
            }
            let (id, name, closed_at) = (UNASSIGNED, name.into(), None);
            let account = Account { id, name, plan, created_at: at, closed_at };
            statements.insert("accounts", &account, E::KEYS_CHANGE)
        })
    }

    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError> {
        let new_name = account_name(new_name)?;
        let update = format!(
            "UPDATE accounts SET name = $2, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        self.change(Scope::Keys, |statements| {
            let Account { id, .. } = account_row(statements, name)?;
            if find_account(statements, new_name)?.is_some_and(|other| other.id != id) {
                return Err(account_exists(new_name));
            }
            statements.execute(&update, &[&id, &new_name])
        })
    }

    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<i64, StoreError> {
        let update = format!(
            "UPDATE accounts SET closed_at = $2, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        let closed = self.change(Scope::Keys, |statements| {
            let Account { id, closed_at, .. } = account_row(statements, name)?;
            if closed_at.is_some() {
                return Ok(None);
            }
            statements.execute(&update, &[&id, &utc_text(&at)])?;
            Ok(Some(id))
        })?;
        // Count the keys outside the transaction, because SQLite blocks all other writes during a
        // transaction. No key can be added in between, because the account is already closed.
        let Some(account) = closed else { return Ok(0) };
        let count = "SELECT count(*) FROM keys WHERE account = $1 AND revoked_at IS NULL";
        let ended = self
            .read(|statements| statements.query_optional(count, &[&account], |row| row.first()))?;
        Ok(ended.unwrap_or(0))
    }

    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError> {
        let plan = AccountPlan { name: plan, limits: limits_in_force(plan, own)? };
        let update = format!(
            "UPDATE accounts SET plan = $2, per_minute = $3, per_day = $4, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        self.change(Scope::Keys, |statements| {
            let Account { id, .. } = account_row(statements, name)?;
            let mut values = vec![id.value()];
            plan.write(&mut values);
            let values: Vec<_> = values.iter().map(|value| value as &dyn Parameter).collect();
            statements.execute(&update, &values)
        })
    }

    fn accounts(&self, now_ms: i64) -> Result<Vec<(Account, i64)>, StoreError> {
        let query = format!("{} ORDER BY name", select_accounts());
        self.read(|statements| statements.query_all(&query, &[&now_ms], read_counted_account))
    }

    fn resolve_account(&self, name_or_id: &str) -> Result<String, StoreError> {
        let query = "SELECT name FROM accounts WHERE name = $1 OR id = CAST($2 AS bigint)
                     ORDER BY name = $1 DESC LIMIT 1";
        let id: Option<i64> = name_or_id.parse().ok();
        let parameters: Parameters<'_> = &[&name_or_id, &id];
        let name = self
            .read(|statements| statements.query_optional(query, parameters, |row| row.first()))?;
        name.ok_or_else(|| no_account(name_or_id))
    }

    fn account(&self, name_or_id: &str, now_ms: i64) -> Result<(Account, i64), StoreError> {
        let name = self.resolve_account(name_or_id)?;
        let query = format!("{} WHERE name = $2", select_accounts());
        let account = self.read(|statements| {
            statements.query_optional(&query, &[&now_ms, &name], read_counted_account)
        })?;
        account.ok_or_else(|| no_account(&name))
    }
}

fn find_account(statements: &dyn Statements, name: &str) -> Result<Option<Account>, StoreError> {
    let query = format!("SELECT {} FROM accounts WHERE name = $1", Account::names());
    statements.query_optional(&query, &[&name], |row| Account::read(row, 0))
}

fn account_row(statements: &dyn Statements, name: &str) -> Result<Account, StoreError> {
    find_account(statements, name)?.ok_or_else(|| no_account(name))
}

/// Returns the id of an account that may get a new key. Fails if no account has this name, or if
/// the account is closed.
pub fn open_account(statements: &dyn Statements, name: &str) -> Result<i64, StoreError> {
    let Account { id, closed_at, .. } = account_row(statements, name)?;
    if closed_at.is_some() { Err(account_closed(name)) } else { Ok(id) }
}
