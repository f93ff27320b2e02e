//! Accounts and keys as they cross the [`Store`](super::Store) trait and the operator's
//! commands: plain values, the same on every engine.

use super::error::StoreError;
use super::statements::Row;
use crate::keys::{ApiKey, Digest, Environment};
use crate::limits::KeyBan;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::num::NonZeroI64;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// A row of the half of accounts and keys that a server reads because it changed.
#[derive(Clone, Debug)]
pub enum KeyChange {
    /// The account of this row.
    Account(i64, AccountRow),
    /// The key of this digest.
    Key(Digest, KeyRow),
}

impl KeyChange {
    /// Reads a row: an account's id, plan, own limits, end, two NULLs and its name; or that id, four
    /// NULLs, and the digest, row, id, end, revocation, last use and latest ban of a key.
    pub fn read(row: &Row<'_>) -> Result<KeyChange, StoreError> {
        let account = row.get(0)?;
        let Some(digest) = row.get(5)? else {
            let (plan, limits) = row.plan_and_limits(1)?;
            let closed_at_ms = row.date_ms(4)?.and_then(|ms| NonZeroI64::new(ms).or(EPOCH));
            let name = row.get::<String>(7)?.into();
            let row = AccountRow { name, plan, limits, closed_at_ms };
            return Ok(KeyChange::Account(account, row));
        };
        let key = KeyRow {
            row: row.get(6)?,
            id: row.get(7)?,
            account,
            ends_at_ms: row.get(8)?,
            revoked: row.get(9)?,
            used_at_ms: row.get::<Option<i64>>(10)?.unwrap_or(0),
            ban: Some(key_ban(row, 11)?).filter(|ban| ban.number > 0).map(Box::new),
        };
        Ok(KeyChange::Key(Digest(digest), key))
    }
}

/// The latest ban of a key, in the column `first` and the two that follow.
pub fn key_ban(row: &Row<'_>, first: usize) -> Result<KeyBan, StoreError> {
    let ends_at_ms = row.get::<Option<i64>>(first)?.unwrap_or(0);
    let seconds = row.get::<Option<u32>>(first + 1)?.unwrap_or(0);
    Ok(KeyBan { ends_at_ms, seconds, number: row.get(first + 2)? })
}

/// The time 0, a millisecond early: a `NonZeroI64` saves the 8 bytes of an option's tag.
const EPOCH: Option<NonZeroI64> = NonZeroI64::new(-1);

/// An account, as far as requests with its keys need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// Its name, for the log.
    pub name: Box<str>,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force.
    pub limits: PlanLimits,
    /// Wall time in milliseconds at which it was closed, which ended all its keys.
    pub closed_at_ms: Option<NonZeroI64>,
}

/// A key, as far as requests with it need it. Its account's row has the rest.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`, as lists and logs show it.
    pub id: Arc<str>,
    /// The row of its account in the store.
    pub account: i64,
    /// Wall time in milliseconds from which the key is refused: its end, or when it was
    /// revoked if that was earlier.
    pub ends_at_ms: Option<i64>,
    /// Whether the operator revoked the key itself.
    pub revoked: bool,
    /// Wall time in milliseconds of the last recorded use; 0 if never used.
    pub used_at_ms: i64,
    /// Its latest ban, or the lifting of it. In a box, because few keys ever have one.
    pub ban: Option<Box<KeyBan>>,
}

impl KeyRow {
    /// Its latest ban.
    pub fn latest_ban(&self) -> KeyBan {
        self.ban.as_deref().copied().unwrap_or_default()
    }
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
