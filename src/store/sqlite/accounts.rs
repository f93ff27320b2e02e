//! Accounts for the operator's commands: created, renamed, closed, moved to another plan,
//! listed.

use super::SqliteStore;
use super::columns::plan_and_limits;
use super::connection::in_transaction;
use super::versions::raise_keys_version;
use crate::store::rules::{account_closed, account_exists, account_name, check_limits, no_account};
use crate::store::{Account, StoreError};
use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;

impl SqliteStore {
    /// Creates an account. `own` are the limits of an Enterprise account, and of
    /// no other.
    pub fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        check_limits(plan, own)?;
        let name = account_name(name)?;
        let (per_minute, per_day) = own.map(|own| (own.per_minute, own.per_day)).unzip();
        in_transaction(&mut self.writer.lock(), |transaction| {
            let created = transaction.execute(
                "INSERT INTO accounts (name, plan, per_minute, per_day, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO NOTHING",
                params![name, plan.as_str(), per_minute, per_day, utc_text(&at)],
            )?;
            if created == 0 {
                return Err(account_exists(name));
            }
            raise_keys_version(transaction)?;
            Ok(())
        })
    }

    /// Gives an account another name, which no other account may have.
    pub fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError> {
        let new_name = account_name(new_name)?;
        in_transaction(&mut self.writer.lock(), |transaction| {
            let changed = transaction.execute(
                "UPDATE OR IGNORE accounts SET name = ?2 WHERE name = ?1",
                params![name, new_name],
            )?;
            if changed == 0 {
                account_row(transaction, name)?;
                return Err(account_exists(new_name));
            }
            raise_keys_version(transaction)?;
            Ok(())
        })
    }

    /// Closes an account for good, and revokes those of its keys that are not revoked.
    pub fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<u64, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let account = account_row(transaction, name)?.id;
            transaction.execute(
                "UPDATE accounts SET closed_at = coalesce(closed_at, ?2) WHERE id = ?1",
                params![account, utc_text(&at)],
            )?;
            let version = raise_keys_version(transaction)?;
            let revoked = transaction.execute(
                "UPDATE keys SET revoked_at = ?2, version = ?3
                 WHERE account = ?1 AND revoked_at IS NULL",
                params![account, at.timestamp_millis(), version],
            )?;
            Ok(revoked as u64)
        })
    }

    /// Moves an account to another plan: its limits hold from the next request.
    pub fn set_plan(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
    ) -> Result<(), StoreError> {
        check_limits(plan, own)?;
        let (per_minute, per_day) = own.map(|own| (own.per_minute, own.per_day)).unzip();
        in_transaction(&mut self.writer.lock(), |transaction| {
            let changed = transaction.execute(
                "UPDATE accounts SET plan = ?2, per_minute = ?3, per_day = ?4 WHERE name = ?1",
                params![name, plan.as_str(), per_minute, per_day],
            )?;
            if changed == 0 {
                return Err(no_account(name));
            }
            let version = raise_keys_version(transaction)?;
            transaction.execute(
                "UPDATE keys SET version = ?2
                 WHERE account = (SELECT id FROM accounts WHERE name = ?1)",
                params![name, version],
            )?;
            Ok(())
        })
    }

    /// Every account, by name.
    pub fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError> {
        let connection = self.reader.lock();
        let mut statement =
            connection.prepare_cached(&format!("{SELECT_ACCOUNTS} ORDER BY name"))?;
        Ok(statement.query_map([now_ms], account)?.collect::<Result<_, _>>()?)
    }

    /// The account of this name.
    pub fn account(&self, name: &str, now_ms: i64) -> Result<Account, StoreError> {
        let connection = self.reader.lock();
        connection
            .query_row(
                &format!("{SELECT_ACCOUNTS} WHERE name = ?2"),
                params![now_ms, name],
                account,
            )
            .optional()?
            .ok_or_else(|| no_account(name))
    }
}

/// Selects the columns of [`account`]; `?1` is the time in Unix milliseconds.
const SELECT_ACCOUNTS: &str = "
    SELECT name, plan, per_minute, per_day, created_at,
           (SELECT count(*) FROM keys
            WHERE account = accounts.id AND revoked_at IS NULL
              AND (expires_at IS NULL OR expires_at > ?1)),
           id, closed_at
    FROM accounts";

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
    let (plan, limits) = plan_and_limits(row, 1)?;
    Ok(Account {
        name: row.get(0)?,
        plan,
        limits,
        created_at: row.get(4)?,
        keys: row.get(5)?,
        id: row.get(6)?,
        closed_at: row.get(7)?,
    })
}

/// The row of an account.
struct AccountRow {
    id: i64,
    is_closed: bool,
}

fn account_row(connection: &Connection, name: &str) -> Result<AccountRow, StoreError> {
    connection
        .query_row(
            "SELECT id, closed_at IS NOT NULL FROM accounts WHERE name = ?1",
            [name],
            |row| Ok(AccountRow { id: row.get(0)?, is_closed: row.get(1)? }),
        )
        .optional()?
        .ok_or_else(|| no_account(name))
}

/// The row of the account of this name, which must not be closed.
pub fn open_account(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    let account = account_row(connection, name)?;
    if account.is_closed { Err(account_closed(name)) } else { Ok(account.id) }
}
