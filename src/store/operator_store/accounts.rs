//! The operator's commands on accounts: create, rename, close, change the plan, find and list.

use super::engine::{Engine, Scope};
use crate::store::account_rows::select_accounts;
use crate::store::rules::{
    account_closed, account_exists, account_name, no_account, require_limits,
};
use crate::store::statements::{Parameters, Statements};
use crate::store::value::Parameter;
use crate::store::{Account, StoreError};
use chrono::{DateTime, Utc};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;

/// Commands on accounts.
pub trait AccountCommands {
    /// Creates an account. `own` are the limits of an Enterprise account; `None` on other plans.
    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;

    /// Renames an account. Fails if another account has the new name.
    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError>;

    /// Closes an account for good, which ends all its keys. Returns the number of keys that were
    /// not revoked before; 0 if the account is already closed. The account keeps its name.
    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<i64, StoreError>;

    /// Moves an account to another plan. The new limits apply from the next request.
    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError>;

    /// Returns every account, sorted by name. Keys that have expired at `now_ms` are not counted.
    fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError>;

    /// Returns the name of the account with this name or, if no account has the name, with this id
    /// (logs contain the id). The cost does not depend on the number of the account's keys.
    fn resolve_account(&self, name_or_id: &str) -> Result<String, StoreError>;

    /// Returns the account with this name or id.
    fn account(&self, name_or_id: &str, now_ms: i64) -> Result<Account, StoreError>;
}

impl<E: Engine> AccountCommands for E {
    fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        require_limits(plan, own)?;
        let name = account_name(name)?;
        let (per_minute, per_day) = limit_columns(own);
        self.change(Scope::Keys, |statements| {
            if find_account(statements, name)?.is_some() {
                return Err(account_exists(name));
            }
            let row: [(&str, &dyn Parameter); 5] = [
                ("name", &name),
                ("plan", &plan.as_str()),
                ("per_minute", &per_minute),
                ("per_day", &per_day),
                ("created_at", &utc_text(&at)),
            ];
            statements.insert("accounts", &row, E::KEYS_CHANGE)
        })
    }

    fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError> {
        let new_name = account_name(new_name)?;
        let update = format!(
            "UPDATE accounts SET name = $2, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        self.change(Scope::Keys, |statements| {
            let (account, _) = account_row(statements, name)?;
            if find_account(statements, new_name)?.is_some_and(|(other, _)| other != account) {
                return Err(account_exists(new_name));
            }
            statements.execute(&update, &[&account, &new_name])
        })
    }

    fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<i64, StoreError> {
        let update = format!(
            "UPDATE accounts SET closed_at = $2, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        let closed = self.change(Scope::Keys, |statements| {
            let (account, is_closed) = account_row(statements, name)?;
            if is_closed {
                return Ok(None);
            }
            statements.execute(&update, &[&account, &utc_text(&at)])?;
            Ok(Some(account))
        })?;
        // Count only after the transaction, because a transaction blocks all other changes. No key
        // was added in between, because the account is closed.
        let Some(account) = closed else { return Ok(0) };
        let count = "SELECT count(*) FROM keys WHERE account = $1 AND revoked_at IS NULL";
        let ended = self
            .read(|statements| statements.query_optional(count, &[&account], |row| row.first()))?;
        Ok(ended.unwrap_or(0))
    }

    fn set_plan(&self, name: &str, plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError> {
        require_limits(plan, own)?;
        let (per_minute, per_day) = limit_columns(own);
        let update = format!(
            "UPDATE accounts SET plan = $2, per_minute = $3, per_day = $4, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        self.change(Scope::Keys, |statements| {
            let (account, _) = account_row(statements, name)?;
            statements.execute(&update, &[&account, &plan.as_str(), &per_minute, &per_day])
        })
    }

    fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError> {
        let query = format!("{} ORDER BY name", select_accounts());
        self.read(|statements| statements.query_all(&query, &[&now_ms], Account::read))
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

    fn account(&self, name_or_id: &str, now_ms: i64) -> Result<Account, StoreError> {
        let name = self.resolve_account(name_or_id)?;
        let query = format!("{} WHERE name = $2", select_accounts());
        let account = self.read(|statements| {
            statements.query_optional(&query, &[&now_ms, &name], Account::read)
        })?;
        account.ok_or_else(|| no_account(&name))
    }
}

fn limit_columns(own: Option<PlanLimits>) -> (Option<u32>, Option<u32>) {
    own.map(|own| (own.per_minute, own.per_day)).unzip()
}

/// Returns the row of the account with this name, and true if it is closed.
fn find_account(
    statements: &dyn Statements,
    name: &str,
) -> Result<Option<(i64, bool)>, StoreError> {
    let query = "SELECT id, closed_at IS NOT NULL AS is_closed FROM accounts WHERE name = $1";
    statements.query_optional(query, &[&name], |row| Ok((row.get("id")?, row.get("is_closed")?)))
}

/// Like [`find_account`], but fails if no account has this name.
fn account_row(statements: &dyn Statements, name: &str) -> Result<(i64, bool), StoreError> {
    find_account(statements, name)?.ok_or_else(|| no_account(name))
}

/// Returns the row of the account with this name. Fails if it is closed.
pub fn open_account(statements: &dyn Statements, name: &str) -> Result<i64, StoreError> {
    match account_row(statements, name)? {
        (_, true) => Err(account_closed(name)),
        (row, false) => Ok(row),
    }
}
