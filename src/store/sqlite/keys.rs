//! Keys for the operator's commands: issued, rotated, revoked, found, listed.

use super::SqliteStore;
use super::accounts::open_account;
use super::columns::parsed;
use super::connection::in_transaction;
use super::versions::raise_keys_version;
use crate::keys::{ApiKey, Digest, Environment, new_key_id};
use crate::store::rules::{OldKey, later, no_key, rotated};
use crate::store::{IssuedKey, KeyRecord, NewKey, Rotation, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

impl SqliteStore {
    /// Issues a key. The store keeps its digest; only the returned value has the key
    /// itself.
    pub fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let account = open_account(transaction, new.account)?;
            let expires_at = new.expires_after.map(|after| later(now_ms, after));
            let version = raise_keys_version(transaction)?;
            Ok(insert(transaction, account, new.environment, now_ms, expires_at, version)?)
        })
    }

    /// Issues the successor of a key, which itself stays valid for the overlap.
    pub fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let old = old_key(transaction, rotation.key_id)?;
            let expiry = rotated(rotation, &old, now_ms)?;
            let version = raise_keys_version(transaction)?;
            let OldKey { account, environment, .. } = old;
            let issued =
                insert(transaction, account, environment, now_ms, expiry.successor, version)?;
            transaction.execute(
                "UPDATE keys SET expires_at = ?2, successor = ?3, version = ?4 WHERE id = ?1",
                params![rotation.key_id, expiry.old, issued.id, version],
            )?;
            Ok(issued)
        })
    }

    /// Revokes a key for good. A second time changes nothing.
    pub fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        let update = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?2), version = ?3
                      WHERE id = ?1";
        self.update_key(update, key_id, now_ms)
    }

    /// Lifts the ban of a key, if it is banned. The moment of lifting rises each time,
    /// also if the wall clock was set back.
    pub fn unban_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        let update = "UPDATE keys SET unbanned_at = max(coalesce(unbanned_at, 0) + 1, ?2),
                                      version = ?3
                      WHERE id = ?1";
        self.update_key(update, key_id, now_ms)
    }

    fn update_key(&self, update: &str, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let version = raise_keys_version(transaction)?;
            let changed = transaction.execute(update, params![key_id, now_ms, version])?;
            if changed == 0 { Err(no_key(key_id)) } else { Ok(()) }
        })
    }

    /// Every key that was ever issued, the oldest first.
    pub fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError> {
        let connection = self.reader.lock();
        let mut statement = connection.prepare_cached(&format!("{SELECT_KEYS} ORDER BY row"))?;
        let records = statement.query_map([], key_record)?;
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// The key of this digest, if it was ever issued.
    pub fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError> {
        let connection = self.reader.lock();
        let query = format!("{SELECT_KEYS} WHERE digest = ?1");
        Ok(connection.query_row(&query, [digest.0], key_record).optional()?)
    }
}

/// Selects the columns of [`key_record`].
const SELECT_KEYS: &str = "
    SELECT keys.id, accounts.name, environment, issued_at, expires_at, revoked_at,
           used_at, successor, row, unbanned_at
    FROM keys JOIN accounts ON accounts.id = keys.account";

fn key_record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    Ok(KeyRecord {
        id: row.get(0)?,
        account: row.get(1)?,
        environment: parsed(row, 2)?,
        issued_at: row.get(3)?,
        expires_at: row.get(4)?,
        revoked_at: row.get(5)?,
        used_at: row.get(6)?,
        successor: row.get(7)?,
        row: row.get(8)?,
        unbanned_at: row.get(9)?,
    })
}

fn old_key(connection: &Connection, key_id: &str) -> Result<OldKey, StoreError> {
    connection
        .query_row(
            "SELECT account, environment, issued_at, expires_at, revoked_at IS NOT NULL, successor
             FROM keys WHERE id = ?1",
            [key_id],
            |row| {
                Ok(OldKey {
                    account: row.get(0)?,
                    environment: parsed(row, 1)?,
                    issued_at: row.get(2)?,
                    expires_at: row.get(3)?,
                    revoked: row.get(4)?,
                    successor: row.get(5)?,
                })
            },
        )
        .optional()?
        .ok_or_else(|| no_key(key_id))
}

fn insert(
    connection: &Connection,
    account: i64,
    environment: Environment,
    now_ms: i64,
    expires_at: Option<i64>,
    version: i64,
) -> rusqlite::Result<IssuedKey> {
    let issued = IssuedKey { id: new_key_id(), key: ApiKey::generate(environment) };
    let digest = issued.key.digest().0;
    connection.execute(
        "INSERT INTO keys (id, account, environment, digest, issued_at, expires_at, version)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![issued.id, account, environment.as_str(), digest, now_ms, expires_at, version],
    )?;
    Ok(issued)
}
