//! Accounts and keys as plain values, which [`Store`](super::Store) and the operator's commands
//! take and return on every engine.

use super::error::StoreError;
use super::statements::Row;
use crate::api_key::{ApiKey, Digest, Environment};
use crate::rate_limiter::KeyBan;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// The maximum number of changed accounts and keys that one poll reads.
pub const MAX_CHANGED_KEYS: usize = 1_024;

/// Selects the columns of [`KeyChange::read`] for the keys in `keys`, a table or subquery.
pub fn select_keys(keys: &str) -> String {
    format!(
        "SELECT accounts.id, plan, per_minute, per_day, closed_at IS NOT NULL, name,
                keys.digest, keys.\"row\", keys.id, keys.expires_at, keys.revoked_at IS NOT NULL,
                keys.used_at, keys.banned_until, keys.ban_seconds, keys.ban_number
         FROM {keys} AS keys JOIN accounts ON accounts.id = keys.account"
    )
}

/// Selects the columns of [`KeyChange::read`] for the accounts and keys whose change number is
/// above `after`, limited to one row more than [`MAX_CHANGED_KEYS`]. Sorts by the change number, so
/// that an engine uses the index on this number even if its estimate of the number of rows is
/// wrong.
pub fn select_changed_keys(after: &str) -> String {
    let most = MAX_CHANGED_KEYS + 1;
    let changed = |table: &str| {
        format!(
            "(SELECT * FROM {table} WHERE change_number > {after}
              ORDER BY change_number LIMIT {most})"
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
    /// An account, without its keys.
    Account(AccountRow),
    /// A key with its digest and its account.
    Key(Digest, KeyRow),
}

impl KeyChange {
    /// Reads the columns of `select_changed_keys`, starting at the column `first`: six of the
    /// account, then nine of the key. The nine are NULL if the row is only an account.
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

    /// Returns the key, or `None` for an account.
    pub fn into_key(self) -> Option<(Digest, KeyRow)> {
        match self {
            KeyChange::Account(_) => None,
            KeyChange::Key(digest, key) => Some((digest, key)),
        }
    }
}

/// Reads the latest ban of a key from three columns, starting at the column `first`.
pub fn key_ban(row: &Row<'_>, first: usize) -> Result<KeyBan, StoreError> {
    let ends_at_ms = row.get::<Option<i64>>(first)?.unwrap_or(0);
    let seconds = row.get::<Option<u32>>(first + 1)?.unwrap_or(0);
    Ok(KeyBan { ends_at_ms, seconds, number: row.get(first + 2)? })
}

/// The fields of an account that a server needs to handle requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// The id of its row in the store.
    pub id: i64,
    /// Its name, for the log.
    pub name: Box<str>,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force.
    pub limits: PlanLimits,
    /// True if the account is closed. All its keys are then refused.
    pub is_closed: bool,
}

/// The fields of a key and its account that a server needs to handle requests with the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`, the name in lists and logs.
    pub id: Arc<str>,
    /// Wall time in milliseconds from which the key is refused.
    pub expires_at_ms: Option<i64>,
    /// True if the operator revoked this key. Closing its account does not set this field.
    pub is_revoked: bool,
    /// Wall time in milliseconds of the last recorded use; 0 if never used.
    pub used_at_ms: i64,
    /// Its latest ban or lifting of a ban.
    pub ban: KeyBan,
    /// Its account.
    pub account: AccountRow,
}

/// A customer's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its row in the store, which also appears in logs.
    pub id: i64,
    /// Unique among all accounts.
    pub name: String,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force. Enterprise accounts have their own limits; other plans have fixed ones.
    #[serde(flatten, serialize_with = "in_camel_case")]
    pub limits: PlanLimits,
    /// The number of its keys that are neither revoked nor expired.
    pub keys: i64,
    /// RFC 3339 in UTC.
    pub created_at: String,
    /// RFC 3339 in UTC.
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
    /// The environment that the key is valid in.
    pub environment: Environment,
    /// `None` if it never expires.
    pub expires_after: Option<Duration>,
    /// The operator's name for the key. Logs show only the key's id.
    pub label: Option<&'a str>,
}

/// A key that was just issued. The key itself is never visible again.
#[derive(Debug)]
pub struct IssuedKey {
    /// `key_…`, the name in lists and logs.
    pub id: String,
    /// The key itself.
    pub key: ApiKey,
}

/// A request to replace a key with a successor.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// `key_…` of the key to be replaced.
    pub key_id: &'a str,
    /// The time that the old key stays valid, at most 7 days.
    pub overlap: Duration,
    /// The label of the successor. `None` copies the old key's label.
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
    /// The environment that the key is valid in.
    pub environment: Environment,
    /// The time of issue.
    pub issued_at: i64,
    /// The time of expiry.
    pub expires_at: Option<i64>,
    /// The time at which the key was revoked or its account was closed, whichever was earlier.
    pub revoked_at: Option<i64>,
    /// The last use, to the minute.
    pub used_at: Option<i64>,
    /// `key_…` of the key that replaces it.
    pub successor: Option<String>,
    /// Its latest ban, unless the operator lifted it.
    pub ban: KeyBan,
    /// The operator's name for the key.
    pub label: Option<String>,
}
