//! Accounts and keys as they cross the [`Store`](super::Store) trait and the operator's
//! commands: plain values, the same on every engine.

use super::error::StoreError;
use super::statements::Row;
use crate::keys::{ApiKey, Digest, Environment};
use crate::limits::KeyBan;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// The most accounts and keys that are read because they changed.
pub const MAX_CHANGED_KEYS: usize = 1_024;

/// Selects the columns of [`KeyChange::read`] for the keys in `$keys`, a table or subquery.
pub fn select_keys(keys: &str) -> String {
    format!(
        "SELECT accounts.id, plan, per_minute, per_day, closed_at IS NOT NULL, name,
                keys.digest, keys.\"row\", keys.id, keys.expires_at, keys.revoked_at IS NOT NULL,
                keys.used_at, keys.banned_until, keys.ban_seconds, keys.ban_number
         FROM {keys} AS keys JOIN accounts ON accounts.id = keys.account"
    )
}

/// Selects the columns of [`KeyChange::read`] for the accounts and keys whose last change is after
/// the parameter `$after`, but no more than one beyond [`MAX_CHANGED_KEYS`]. Sorted, so that they are
/// read by the index of changes however few of them an engine expects.
pub fn select_changed_keys(change_number: &str, after: &str) -> String {
    let most = MAX_CHANGED_KEYS + 1;
    let changed = |table: &str| {
        format!(
            "(SELECT * FROM {table} WHERE {change_number} > {after}
              ORDER BY {change_number} LIMIT {most})"
        )
    };
    let (accounts, keys) = (changed("accounts"), select_keys(&changed("keys")));
    format!(
        "SELECT id, plan, per_minute, per_day, closed_at IS NOT NULL, name,
                CAST(NULL AS bytea), CAST(NULL AS bigint), CAST(NULL AS text),
                CAST(NULL AS bigint), CAST(NULL AS boolean), CAST(NULL AS bigint),
                CAST(NULL AS bigint), CAST(NULL AS integer), CAST(NULL AS integer)
         FROM {accounts} AS accounts
         UNION ALL {keys} LIMIT {most}"
    )
}

/// An account or a key that a server reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// An account, whichever keys it has.
    Account(AccountRow),
    /// The key of this digest.
    Key(Digest, KeyRow),
}

impl KeyChange {
    /// Reads a row: an account's id, plan, own limits, end and name in six columns from this one on;
    /// then the digest, row, id, end, revocation, last use and latest ban of a key, or NULLs.
    pub fn read(row: &Row<'_>, first: usize) -> Result<KeyChange, StoreError> {
        let (plan, limits) = row.plan_and_limits(first + 1)?;
        let account = AccountRow {
            id: row.get(first)?,
            name: row.get::<String>(first + 5)?.into(),
            plan,
            limits,
            is_closed: row.get(first + 4)?,
        };
        let Some(digest) = row.get(first + 6)? else { return Ok(KeyChange::Account(account)) };
        let key = KeyRow {
            row: row.get(first + 7)?,
            id: row.get(first + 8)?,
            expires_at_ms: row.get(first + 9)?,
            is_revoked: row.get(first + 10)?,
            used_at_ms: row.get::<Option<i64>>(first + 11)?.unwrap_or(0),
            ban: key_ban(row, first + 12)?,
            account,
        };
        Ok(KeyChange::Key(Digest(digest), key))
    }

    /// The key, if it is one.
    pub fn into_key(self) -> Option<(Digest, KeyRow)> {
        match self {
            KeyChange::Account(_) => None,
            KeyChange::Key(digest, key) => Some((digest, key)),
        }
    }
}

/// The latest ban of a key, in the column `first` and the two that follow.
pub fn key_ban(row: &Row<'_>, first: usize) -> Result<KeyBan, StoreError> {
    let ends_at_ms = row.get::<Option<i64>>(first)?.unwrap_or(0);
    let seconds = row.get::<Option<u32>>(first + 1)?.unwrap_or(0);
    Ok(KeyBan { ends_at_ms, seconds, number: row.get(first + 2)? })
}

/// An account, as far as requests with its keys need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// Its row in the store.
    pub id: i64,
    /// Its name, for the log.
    pub name: Box<str>,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force.
    pub limits: PlanLimits,
    /// Whether it was closed, which ended all its keys.
    pub is_closed: bool,
}

/// A key and its account, as far as requests with the key need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`, as lists and logs show it.
    pub id: Arc<str>,
    /// Wall time in milliseconds from which the key is refused.
    pub expires_at_ms: Option<i64>,
    /// Whether the operator revoked the key itself.
    pub is_revoked: bool,
    /// Wall time in milliseconds of the last recorded use; 0 if never used.
    pub used_at_ms: i64,
    /// Its latest ban, or the lifting of it.
    pub ban: KeyBan,
    /// Its account.
    pub account: AccountRow,
}

/// A customer's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its row in the store, which logs name.
    pub id: i64,
    /// The name, which is unique.
    pub name: String,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force: the plan's, or Enterprise's own.
    #[serde(flatten, serialize_with = "in_camel_case")]
    pub limits: PlanLimits,
    /// How many of its keys are neither revoked nor expired.
    pub keys: i64,
    /// When it was created, RFC 3339 in UTC.
    pub created_at: String,
    /// When it was closed, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
}

fn in_camel_case<S: Serializer>(limits: &PlanLimits, serializer: S) -> Result<S::Ok, S::Error> {
    json!({ "perMinute": limits.per_minute, "perDay": limits.per_day }).serialize(serializer)
}

/// A key to be issued.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    /// The name of its account.
    pub account: &'a str,
    /// The environment it is valid in.
    pub environment: Environment,
    /// How long it is valid; forever if none.
    pub expires_after: Option<Duration>,
    /// What the operator calls it. Logs name keys by their ids alone.
    pub label: Option<&'a str>,
}

/// A key that was just issued: the only time that the key itself is visible.
#[derive(Debug)]
pub struct IssuedKey {
    /// `key_…`, which names it from now on.
    pub id: String,
    /// The key itself.
    pub key: ApiKey,
}

/// A rotation: which key, and how long it stays valid alongside its successor.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// `key_…` of the key to be replaced.
    pub key_id: &'a str,
    /// Counted from now; at most 7 days.
    pub overlap: Duration,
    /// The label of the successor; without one, that of the key.
    pub label: Option<&'a str>,
}

/// A key as the operator sees it. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`.
    pub id: String,
    /// The name of its account.
    pub account: String,
    /// The environment it is valid in.
    pub environment: Environment,
    /// When it was issued.
    pub issued_at: i64,
    /// When it expires.
    pub expires_at: Option<i64>,
    /// When it was revoked, or its account closed, whichever came first.
    pub revoked_at: Option<i64>,
    /// When it was last used, to the minute.
    pub used_at: Option<i64>,
    /// `key_…` of the key that replaces it.
    pub successor: Option<String>,
    /// Its latest ban, unless the operator lifted that.
    pub ban: KeyBan,
    /// What the operator calls it.
    pub label: Option<String>,
}
