//! The operator's commands on keys: issue, rotate, revoke, unban, find and list.

use super::accounts::open_account;
use super::engine::{Engine, Scope};
use crate::api_key::{ApiKey, Digest, Environment, new_key_id};
use crate::rate_limiter::KeyBan;
use crate::store::account_rows::{Key, select_keys};
use crate::store::rules::{add_ms, key_label, no_key, rotation_expiries};
use crate::store::statements::{Parameters, Statements, UNASSIGNED};
use crate::store::value::Parameter;
use crate::store::{IssuedKey, KeyRecord, NewKey, Rotation, StoreError};

pub trait KeyCommands {
    /// Issues a key. Fails if the account does not exist or is closed. The store keeps only the
    /// key's digest, so the key cannot be shown again.
    fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError>;

    /// Issues a successor of a key. The old key stays valid for `rotation.overlap`, but not beyond
    /// its own expiry.
    fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError>;

    /// Revokes a key for good. A key that is already revoked keeps the time of its revocation.
    fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError>;

    /// Lifts any ban of a key, and forgets earlier bans. So the next ban has the length of a first
    /// ban.
    fn unban_key(&self, key_id: &str) -> Result<(), StoreError>;

    /// Returns every key that was ever issued, oldest first.
    fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError>;

    /// Returns the key with this digest, if it was ever issued.
    fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError>;

    /// Returns the key with this id. Fails if no such key was ever issued.
    fn key_of_id(&self, key_id: &str) -> Result<KeyRecord, StoreError>;
}

impl<E: Engine> KeyCommands for E {
    fn issue_key(&self, new: &NewKey<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        let label = new.label.map(key_label).transpose()?;
        self.change(Scope::Keys, |statements| {
            let account = open_account(statements, new.account)?;
            let expires_at = new.expires_after.map(|after| add_ms(now_ms, after));
            insert::<E>(statements, account, new.environment, label, now_ms, expires_at)
        })
    }

    fn rotate_key(&self, rotation: Rotation<'_>, now_ms: i64) -> Result<IssuedKey, StoreError> {
        let label = rotation.label.map(key_label).transpose()?;
        let update = format!(
            "UPDATE keys SET expires_at = $2, successor = $3, change_number = {} WHERE id = $1",
            E::KEYS_CHANGE
        );
        self.change(Scope::Keys, |statements| {
            let old = key_of_id(statements, rotation.key_id)?;
            let (old_end, end) = rotation_expiries(rotation, &old, now_ms)?;
            let Key { account, environment, label: old_label, .. } = old.key;
            let label = label.or(old_label.as_deref());
            let issued = insert::<E>(statements, account, environment, label, now_ms, end)?;
            statements.execute(&update, &[&rotation.key_id, &old_end, &issued.id])?;
            Ok(issued)
        })
    }

    fn revoke_key(&self, key_id: &str, now_ms: i64) -> Result<(), StoreError> {
        update(self, "revoked_at = coalesce(revoked_at, $2)", key_id, &[&key_id, &now_ms])
    }

    fn unban_key(&self, key_id: &str) -> Result<(), StoreError> {
        let lifted = "banned_until = NULL, ban_seconds = NULL, ban_number = ban_number + 1";
        update(self, lifted, key_id, &[&key_id])
    }

    fn key_records(&self) -> Result<Vec<KeyRecord>, StoreError> {
        let query = format!("{} ORDER BY keys.row", select_keys("keys"));
        self.read(|statements| statements.query_all(&query, &[], |row| KeyRecord::read(row, 0)))
    }

    fn key_record(&self, digest: &Digest) -> Result<Option<KeyRecord>, StoreError> {
        self.read(|statements| find_key(statements, "digest", &digest.0))
    }

    fn key_of_id(&self, key_id: &str) -> Result<KeyRecord, StoreError> {
        self.read(|statements| key_of_id(statements, key_id))
    }
}

fn key_of_id(statements: &dyn Statements, key_id: &str) -> Result<KeyRecord, StoreError> {
    find_key(statements, "id", &key_id)?.ok_or_else(|| no_key(key_id))
}

fn find_key(
    statements: &dyn Statements,
    column: &str,
    value: &dyn Parameter,
) -> Result<Option<KeyRecord>, StoreError> {
    let query = format!("{} WHERE keys.{column} = $1", select_keys("keys"));
    statements.query_optional(&query, &[value], |row| KeyRecord::read(row, 0))
}

/// Applies a SQL assignment to one key. Fails if the key does not exist. `parameters` must begin
/// with the key's id, for `$1`.
fn update<E: Engine>(
    engine: &E,
    assignment: &str,
    key_id: &str,
    parameters: Parameters<'_>,
) -> Result<(), StoreError> {
    let update =
        format!("UPDATE keys SET {assignment}, change_number = {} WHERE id = $1", E::KEYS_CHANGE);
    engine.change(Scope::Keys, |statements| {
        key_of_id(statements, key_id)?;
        statements.execute(&update, parameters)
    })
}

fn insert<E: Engine>(
    statements: &dyn Statements,
    account: i64,
    environment: Environment,
    label: Option<&str>,
    issued_at: i64,
    expires_at: Option<i64>,
) -> Result<IssuedKey, StoreError> {
    let issued = IssuedKey { id: new_key_id(), key: ApiKey::generate(environment) };
    let key = Key {
        row: UNASSIGNED,
        id: issued.id.as_str().into(),
        account,
        environment,
        digest: issued.key.digest(),
        label: label.map(Box::from),
        issued_at,
        expires_at,
        revoked_at: None,
        used_at: None,
        successor: None,
        ban: KeyBan::default(),
    };
    statements.insert("keys", &key, E::KEYS_CHANGE)?;
    Ok(issued)
}
