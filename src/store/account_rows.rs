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

/// A column of the queries for accounts and keys.
#[derive(Clone, Copy)]
pub struct Selected {
    /// Its name in the result.
    name: &'static str,
    /// Its expression, on the tables `accounts` and `keys`.
    pub expression: &'static str,
    /// The type of the expression.
    sql_type: &'static str,
}

const fn column(name: &'static str, expression: &'static str, sql_type: &'static str) -> Selected {
    Selected { name, expression, sql_type }
}

/// The column with the account's id, which is never NULL in the row of an account or key.
pub const ACCOUNT_ID: &str = "account_id";

/// The columns of an account that servers and commands read.
pub const ACCOUNT: [Selected; 6] = [
    column(ACCOUNT_ID, "accounts.id", "bigint"),
    column("account_name", "accounts.name", "text"),
    column("plan", "accounts.plan", "text"),
    column("per_minute", "accounts.per_minute", "bigint"),
    column("per_day", "accounts.per_day", "bigint"),
    column("is_closed", "accounts.closed_at IS NOT NULL", "boolean"),
];

/// The columns of an account that only commands read.
pub const ACCOUNT_DETAILS: [Selected; 2] = [
    column("created_at", "accounts.created_at", "text"),
    column("closed_at", "accounts.closed_at", "text"),
];

/// The columns of a key that servers and commands read.
pub const KEY: [Selected; 9] = [
    column("digest", "keys.digest", "bytea"),
    column("key_row", "keys.\"row\"", "bigint"),
    column("key_id", "keys.id", "text"),
    column("expires_at", "keys.expires_at", "bigint"),
    column("is_revoked", "keys.revoked_at IS NOT NULL", "boolean"),
    column("used_at", "keys.used_at", "bigint"),
    column("banned_until", "keys.banned_until", "bigint"),
    column("ban_seconds", "keys.ban_seconds", "integer"),
    column("ban_number", "keys.ban_number", "integer"),
];

/// The columns of a key that only commands read.
pub const KEY_DETAILS: [Selected; 5] = [
    column("environment", "keys.environment", "text"),
    column("issued_at", "keys.issued_at", "bigint"),
    column("revoked_at", "keys.revoked_at", "bigint"),
    column("successor", "keys.successor", "text"),
    column("label", "keys.label", "text"),
];

/// Selects the columns of [`Account::read`] from `accounts`; `$1` is the time in Unix milliseconds.
pub fn select_accounts() -> String {
    format!(
        "SELECT {}, {}, (SELECT count(*) FROM keys
                         WHERE account = accounts.id AND accounts.closed_at IS NULL
                           AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)) AS keys
         FROM accounts",
        select(&ACCOUNT),
        select(&ACCOUNT_DETAILS)
    )
}

/// Selects the columns of [`KeyRecord::read`] from `keys` and `accounts`.
pub fn select_key_records() -> String {
    format!(
        "SELECT {}, {}, {}, {} FROM keys JOIN accounts ON accounts.id = keys.account",
        select(&ACCOUNT),
        select(&ACCOUNT_DETAILS),
        select(&KEY),
        select(&KEY_DETAILS)
    )
}

/// Selects these columns.
fn select(columns: &[Selected]) -> String {
    let columns = columns.iter().map(|column| format!("{} AS {}", column.expression, column.name));
    columns.collect::<Vec<_>>().join(", ")
}

/// Selects the columns of [`KeyChange::read`] for the keys in `keys`, a table or subquery.
pub fn select_keys(keys: &str) -> String {
    format!(
        "SELECT {}, {} FROM {keys} AS keys JOIN accounts ON accounts.id = keys.account",
        select(&ACCOUNT),
        select(&KEY)
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
    let no_key =
        KEY.map(|Selected { name, sql_type, .. }| format!("CAST(NULL AS {sql_type}) AS {name}"));
    format!(
        "SELECT {}, {} FROM {accounts} AS accounts UNION ALL {keys} LIMIT {most}",
        select(&ACCOUNT),
        no_key.join(", ")
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
    /// Reads a row of [`select_keys`] or [`select_changed_keys`].
    pub fn read(row: &Row<'_>) -> Result<KeyChange, StoreError> {
        let account = AccountRow::read(row)?;
        let Some(digest) = row.get("digest")? else { return Ok(KeyChange::Account(account)) };
        let key = KeyRow {
            row: row.get("key_row")?,
            id: row.get("key_id")?,
            expires_at_ms: row.get("expires_at")?,
            is_revoked: row.get("is_revoked")?,
            used_at_ms: row.get::<Option<i64>>("used_at")?.unwrap_or(0),
            ban: key_ban(row)?,
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

/// Reads the latest ban of a key from its three columns.
fn key_ban(row: &Row<'_>) -> Result<KeyBan, StoreError> {
    let ends_at_ms = row.get::<Option<i64>>("banned_until")?.unwrap_or(0);
    let seconds = row.get::<Option<u32>>("ban_seconds")?.unwrap_or(0);
    Ok(KeyBan { ends_at_ms, seconds, number: row.get("ban_number")? })
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

impl AccountRow {
    /// Reads the columns of an account.
    fn read(row: &Row<'_>) -> Result<AccountRow, StoreError> {
        let (plan, limits) = row.plan_and_limits()?;
        Ok(AccountRow {
            id: row.get(ACCOUNT_ID)?,
            name: row.get("account_name")?,
            plan,
            limits,
            is_closed: row.get("is_closed")?,
        })
    }
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

impl Account {
    /// Reads a row of [`select_accounts`].
    pub fn read(row: &Row<'_>) -> Result<Account, StoreError> {
        let AccountRow { id, name, plan, limits, is_closed: _ } = AccountRow::read(row)?;
        Ok(Account {
            id,
            name: name.into(),
            plan,
            limits,
            keys: row.get("keys")?,
            created_at: row.get("created_at")?,
            closed_at: row.get("closed_at")?,
        })
    }
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

impl KeyRecord {
    /// Reads a row of [`select_key_records`].
    pub fn read(row: &Row<'_>) -> Result<KeyRecord, StoreError> {
        let (revoked_at, account_closed_at): (Option<i64>, _) =
            (row.get("revoked_at")?, row.date_ms("closed_at")?);
        Ok(KeyRecord {
            row: row.get("key_row")?,
            id: row.get("key_id")?,
            account: row.get("account_name")?,
            environment: row.parse("environment")?,
            issued_at: row.get("issued_at")?,
            expires_at: row.get("expires_at")?,
            revoked_at: revoked_at.into_iter().chain(account_closed_at).min(),
            used_at: row.get("used_at")?,
            successor: row.get("successor")?,
            ban: key_ban(row)?,
            label: row.get("label")?,
        })
    }
}
