//! Keys for the operator's commands: issued, rotated, revoked, found, listed.

use super::PostgresCommands;
use super::accounts::open_account;
use crate::keys::{ApiKey, Digest, Environment, new_key_id};
use crate::store::postgres::columns::{parsed, value};
use crate::store::postgres::error::{read, written};
use crate::store::postgres::journal::Half;
use crate::store::rules::{OldKey, later, no_key, rotated};
use crate::store::{IssuedKey, KeyRecord, NewKey, Rotation, StoreError};
use tokio_postgres::{Row, Transaction};

impl PostgresCommands {
    /// Issues a key. The store keeps its digest; only the returned value has the key
    /// itself.
    pub fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        self.change(Half::Keys, async |transaction, version| {
            let account = open_account(transaction, new.account).await?;
            let expires_at = new.expires_after.map(|after| later(now_ms, after));
            insert(transaction, account, new.environment, now_ms, expires_at, version).await
        })
    }

    /// Issues the successor of a key, which itself stays valid for the overlap.
    pub fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        self.change(Half::Keys, async |transaction, version| {
            let old = old_key(transaction, rotation.key_id).await?;
            let expiry = rotated(rotation, &old, now_ms)?;
            let OldKey { account, environment, .. } = old;
            let issued =
                insert(transaction, account, environment, now_ms, expiry.successor, version)
                    .await?;
            let update = "UPDATE keys SET expires_at = $2, successor = $3, changed_in = $4
                          WHERE id = $1";
            transaction
                .execute(update, &[&rotation.key_id, &expiry.old, &issued.id, &version])
                .await
                .map_err(written)?;
            Ok(issued)
        })
    }

    /// Revokes a key for good. A second time changes nothing.
    pub fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        let update = "UPDATE keys SET revoked_at = coalesce(revoked_at, $2), changed_in = $3
                      WHERE id = $1";
        self.update_key(update, key_id, now_ms)
    }

    /// Lifts the ban of a key, if it is banned. The moment of lifting rises each time,
    /// also if the wall clock was set back.
    pub fn unban_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        let update = "UPDATE keys SET unbanned_at = greatest(coalesce(unbanned_at, 0) + 1, $2),
                                      changed_in = $3
                      WHERE id = $1";
        self.update_key(update, key_id, now_ms)
    }

    fn update_key(&self, update: &str, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        self.change(Half::Keys, async |transaction, version| {
            let changed = transaction
                .execute(update, &[&key_id, &now_ms, &version])
                .await
                .map_err(written)?;
            if changed == 0 { Err(no_key(key_id)) } else { Ok(()) }
        })
    }

    /// Every key that was ever issued, the oldest first.
    pub fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError> {
        let query = format!("{SELECT_KEYS} ORDER BY \"row\"");
        let rows = self.ask(async |client| client.query(&query, &[]).await.map_err(read))?;
        rows.iter().map(key_record).collect()
    }

    /// The key of this digest, if it was ever issued.
    pub fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError> {
        let query = format!("{SELECT_KEYS} WHERE digest = $1");
        let digest = digest.0.as_slice();
        let row =
            self.ask(async |client| client.query_opt(&query, &[&digest]).await.map_err(read))?;
        row.as_ref().map(key_record).transpose()
    }
}

/// Selects the columns of [`key_record`].
const SELECT_KEYS: &str = "
    SELECT keys.id, accounts.name, environment, issued_at, expires_at, revoked_at,
           used_at, successor, \"row\", unbanned_at
    FROM keys JOIN accounts ON accounts.id = keys.account";

fn key_record(row: &Row) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: value(row, 0)?,
        account: value(row, 1)?,
        environment: parsed(row, 2)?,
        issued_at: value(row, 3)?,
        expires_at: value(row, 4)?,
        revoked_at: value(row, 5)?,
        used_at: value(row, 6)?,
        successor: value(row, 7)?,
        row: value(row, 8)?,
        unbanned_at: value(row, 9)?,
    })
}

async fn old_key(transaction: &Transaction<'_>, key_id: &str) -> Result<OldKey, StoreError> {
    let query = "SELECT account, environment, issued_at, expires_at, revoked_at IS NOT NULL,
                        successor
                 FROM keys WHERE id = $1";
    let row = transaction.query_opt(query, &[&key_id]).await.map_err(read)?;
    let row = &row.ok_or_else(|| no_key(key_id))?;
    Ok(OldKey {
        account: value(row, 0)?,
        environment: parsed(row, 1)?,
        issued_at: value(row, 2)?,
        expires_at: value(row, 3)?,
        revoked: value(row, 4)?,
        successor: value(row, 5)?,
    })
}

async fn insert(
    transaction: &Transaction<'_>,
    account: i64,
    environment: Environment,
    now_ms: i64,
    expires_at: Option<i64>,
    version: i64,
) -> Result<IssuedKey, StoreError> {
    let issued = IssuedKey { id: new_key_id(), key: ApiKey::generate(environment) };
    let digest = issued.key.digest().0;
    let statement = "INSERT INTO keys (id, account, environment, digest, issued_at, expires_at,
                                       changed_in)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let (environment, digest) = (environment.as_str(), digest.as_slice());
    transaction
        .execute(
            statement,
            &[&issued.id, &account, &environment, &digest, &now_ms, &expires_at, &version],
        )
        .await
        .map_err(written)?;
    Ok(issued)
}
