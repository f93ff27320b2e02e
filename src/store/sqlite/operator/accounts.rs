//! Accounts as the operator handles them: created, moved to another plan, listed.

use super::super::serving::{limits_of, plan_of};
use super::super::{SqliteStore, lock, reading, writing};
use super::{in_transaction, raise_keys_version};
use crate::keys::repeatable;
use crate::store::StoreError;
use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;

/// A customer's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// The name, which is unique.
    pub name: String,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force: the plan's, or Enterprise's own.
    #[serde(flatten)]
    pub limits: PlanLimits,
    /// When it was created, RFC 3339 in UTC.
    pub created_at: String,
    /// How many of its keys are neither revoked nor expired.
    pub keys: i64,
}

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
        if name.trim().is_empty() {
            return Err(StoreError::Refused("an account needs a name".to_string()));
        }
        in_transaction(self, |transaction| {
            let created = transaction
                .execute(
                    "INSERT INTO accounts (name, plan, per_minute, per_day, created_at)
                     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO NOTHING",
                    params![
                        name,
                        plan.as_str(),
                        own.map(|own| own.per_minute),
                        own.map(|own| own.per_day),
                        utc_text(&at)
                    ],
                )
                .map_err(writing)?;
            if created == 0 {
                return Err(StoreError::Refused(format!("there is an account {name:?} already")));
            }
            raise_keys_version(transaction)
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
        in_transaction(self, |transaction| {
            let changed = transaction
                .execute(
                    "UPDATE accounts SET plan = ?2, per_minute = ?3, per_day = ?4 WHERE name = ?1",
                    params![
                        name,
                        plan.as_str(),
                        own.map(|own| own.per_minute),
                        own.map(|own| own.per_day)
                    ],
                )
                .map_err(writing)?;
            if changed == 0 {
                return Err(no_account(name));
            }
            raise_keys_version(transaction)
        })
    }

    /// Every account, by name.
    pub fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError> {
        let connection = lock(&self.reader);
        let mut statement = connection
            .prepare_cached(
                "SELECT name, plan, per_minute, per_day, created_at,
                        (SELECT count(*) FROM keys
                         WHERE account = accounts.id AND revoked_at IS NULL
                           AND (expires_at IS NULL OR expires_at > ?1))
                 FROM accounts ORDER BY name",
            )
            .map_err(reading)?;
        let rows = statement
            .query_map([now_ms], |row| {
                Ok(Account {
                    name: row.get(0)?,
                    plan: plan_of(row, 1)?,
                    limits: limits_of(row, 1)?,
                    created_at: row.get(4)?,
                    keys: row.get(5)?,
                })
            })
            .map_err(reading)?;
        rows.collect::<Result<_, _>>().map_err(reading)
    }
}

/// The row of the account of this name.
pub(super) fn account_row(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    connection
        .query_row("SELECT id FROM accounts WHERE name = ?1", [name], |row| row.get(0))
        .optional()
        .map_err(reading)?
        .ok_or_else(|| no_account(name))
}

fn no_account(name: &str) -> StoreError {
    StoreError::Refused(format!(
        "there is no account {:?}; `store-orders accounts list` shows those there are",
        repeatable(name)
    ))
}

/// Enterprise's limits are agreed for each account; every other plan has its own.
fn check_limits(plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError> {
    match (plan.limits(), own) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (None, None) => Err(StoreError::Refused(
            "an enterprise account needs limits of its own: --per-minute N --per-day N".to_string(),
        )),
        (Some(limits), Some(_)) => Err(StoreError::Refused(format!(
            "the plan {} has fixed limits ({} a minute, {} a day); only enterprise takes \
             --per-minute and --per-day",
            plan.as_str(),
            limits.per_minute,
            limits.per_day
        ))),
    }
}
