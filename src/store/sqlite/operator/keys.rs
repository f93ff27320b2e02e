//! Keys as the operator handles them: issued, rotated, revoked, listed.

use super::super::serving::environment_of;
use super::super::{SqliteStore, lock, reading, writing};
use super::accounts::account_row;
use super::{in_transaction, raise_keys_version};
use crate::keys::{ApiKey, Environment, new_key_id, repeatable};
use crate::store::StoreError;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use std::time::Duration;

/// A key to be issued.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    /// The name of its account.
    pub account: &'a str,
    /// Where it is to work.
    pub environment: Environment,
    /// How long it is valid; without end if none.
    pub expires_after: Option<Duration>,
}

/// A key that was issued just now. It is the one time that the key is seen.
#[derive(Debug)]
pub struct IssuedKey {
    /// `key_…`, by which it is known from now on.
    pub id: String,
    /// The key itself.
    pub key: ApiKey,
}

/// A rotation: which key, and how long it stays valid beside its successor.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// `key_…` of the key to be replaced.
    pub key_id: &'a str,
    /// From now; at most 7 days.
    pub overlap: Duration,
}

/// How long a rotated key may stay valid at most.
pub const LONGEST_OVERLAP: Duration = Duration::from_secs(7 * 86_400);

/// A key as lists show it. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    /// `key_…`.
    pub id: String,
    /// The name of its account.
    pub account: String,
    /// Where it works.
    pub environment: Environment,
    /// When it was issued.
    pub issued_at: i64,
    /// From when it is refused.
    pub expires_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// When it was last used, to the minute.
    pub used_at: Option<i64>,
    /// `key_…` of the key that replaces it.
    pub successor: Option<String>,
}

impl SqliteStore {
    /// Issues a key. The store keeps its digest; the key itself is in the answer
    /// and nowhere else.
    pub fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        in_transaction(self, |transaction| {
            let account = account_row(transaction, new.account)?;
            let expires_at = new.expires_after.map(|after| later(now_ms, after));
            let issued = insert(transaction, account, new.environment, now_ms, expires_at)?;
            raise_keys_version(transaction)?;
            Ok(issued)
        })
    }

    /// Issues a successor to a key, which stays valid for the overlap, or until
    /// its own end if that comes first. The successor has no end unless the key
    /// had one: then it lives as long as the key was meant to.
    pub fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        if rotation.overlap > LONGEST_OVERLAP {
            return Err(StoreError::Refused(
                "a rotated key can stay valid for at most 7 days".to_string(),
            ));
        }
        in_transaction(self, |transaction| {
            let old = live_key(transaction, rotation.key_id, now_ms)?;
            let lifetime = old.expires_at.map(|end| end.saturating_sub(old.issued_at));
            let expires_at = lifetime.map(|lifetime| now_ms.saturating_add(lifetime));
            let issued = insert(transaction, old.account, old.environment, now_ms, expires_at)?;
            let end = later(now_ms, rotation.overlap);
            let end = old.expires_at.map_or(end, |own| own.min(end));
            transaction
                .execute(
                    "UPDATE keys SET expires_at = ?2, successor = ?3 WHERE id = ?1",
                    params![rotation.key_id, end, issued.id],
                )
                .map_err(writing)?;
            raise_keys_version(transaction)?;
            Ok(issued)
        })
    }

    /// Revokes a key for good; one that is revoked already stays so.
    pub fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        in_transaction(self, |transaction| {
            let changed = transaction
                .execute(
                    "UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
                    params![key_id, now_ms],
                )
                .map_err(writing)?;
            if changed == 0 {
                return Err(no_key(key_id));
            }
            raise_keys_version(transaction)
        })
    }

    /// Every key that was ever issued, the oldest first.
    pub fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError> {
        let connection = lock(&self.reader);
        let mut statement = connection
            .prepare_cached(
                "SELECT keys.id, accounts.name, environment, issued_at, expires_at, revoked_at,
                        used_at, successor
                 FROM keys JOIN accounts ON accounts.id = keys.account ORDER BY row",
            )
            .map_err(reading)?;
        let rows = statement
            .query_map([], |row| {
                Ok(KeyRecord {
                    id: row.get(0)?,
                    account: row.get(1)?,
                    environment: environment_of(row, 2)?,
                    issued_at: row.get(3)?,
                    expires_at: row.get(4)?,
                    revoked_at: row.get(5)?,
                    used_at: row.get(6)?,
                    successor: row.get(7)?,
                })
            })
            .map_err(reading)?;
        rows.collect::<Result<_, _>>().map_err(reading)
    }
}

/// What a rotation needs to know of the key it replaces.
struct LiveKey {
    account: i64,
    environment: Environment,
    issued_at: i64,
    expires_at: Option<i64>,
}

/// The key of this id, which must be valid now and have no successor.
fn live_key(connection: &Connection, key_id: &str, now_ms: i64) -> Result<LiveKey, StoreError> {
    let found = connection
        .query_row(
            "SELECT account, environment, issued_at, expires_at, revoked_at IS NOT NULL, successor
             FROM keys WHERE id = ?1",
            [key_id],
            |row| {
                let key = LiveKey {
                    account: row.get(0)?,
                    environment: environment_of(row, 1)?,
                    issued_at: row.get(2)?,
                    expires_at: row.get(3)?,
                };
                Ok((key, row.get::<_, bool>(4)?, row.get::<_, Option<String>>(5)?))
            },
        )
        .optional()
        .map_err(reading)?;
    let Some((key, revoked, successor)) = found else { return Err(no_key(key_id)) };
    let refused = |why: String| StoreError::Refused(format!("{key_id} {why}"));
    if let Some(successor) = successor {
        return Err(refused(format!("was rotated already: its successor is {successor}")));
    }
    if revoked {
        return Err(refused("is revoked; issue a new key instead".to_string()));
    }
    if key.expires_at.is_some_and(|end| end <= now_ms) {
        return Err(refused("has expired; issue a new key instead".to_string()));
    }
    Ok(key)
}

fn insert(
    connection: &Connection,
    account: i64,
    environment: Environment,
    now_ms: i64,
    expires_at: Option<i64>,
) -> Result<IssuedKey, StoreError> {
    let issued = IssuedKey { id: new_key_id(), key: ApiKey::generate(environment) };
    connection
        .execute(
            "INSERT INTO keys (id, account, environment, digest, issued_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                issued.id,
                account,
                environment.name(),
                issued.key.digest().0,
                now_ms,
                expires_at
            ],
        )
        .map_err(writing)?;
    Ok(issued)
}

fn later(now_ms: i64, by: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}

fn no_key(key_id: &str) -> StoreError {
    StoreError::Refused(format!(
        "there is no key {}; `store-orders keys list` shows those there are",
        repeatable(key_id)
    ))
}
