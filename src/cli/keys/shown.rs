//! Converts the record of a key to JSON for output, and defines the columns of the table of keys.

use crate::api_key::{Environment, is_expired};
use crate::cli::table::Column;
use crate::cli::timestamp::rfc3339;
use crate::clock::Now;
use crate::store::KeyRecord;
use clap::ValueEnum;
use serde::Serialize;

pub const COLUMNS: [Column; 11] = [
    Column::text("id"),
    Column::text("account"),
    Column::text("label"),
    Column::text("environment"),
    Column::text("state"),
    Column::day("issuedAt"),
    Column::day("expiresAt"),
    Column::day("revokedAt"),
    Column::minute("bannedUntil"),
    Column::minute("usedAt"),
    Column::text("successor"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Valid, and neither replaced nor banned
    Active,
    /// Replaced, and still valid until it expires
    Rotated,
    /// Valid, but refused for a while, because its client kept sending requests after a 429
    Banned,
    /// Past its expiry, and not revoked
    Expired,
    /// Ended by `keys revoke` or `accounts close`
    Revoked,
}

impl KeyState {
    fn from_record(record: &KeyRecord, is_banned: bool, now_ms: i64) -> KeyState {
        let key = &record.key;
        if record.revoked_at().is_some() {
            KeyState::Revoked
        } else if is_expired(key.expires_at, now_ms) {
            KeyState::Expired
        } else if is_banned {
            KeyState::Banned
        } else if key.successor.is_some() {
            KeyState::Rotated
        } else {
            KeyState::Active
        }
    }
}

/// The JSON record of a key. It never contains the secret text of the key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyJson {
    pub id: Box<str>,
    pub account: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Box<str>>,
    environment: Environment,
    pub state: KeyState,
    issued_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    banned_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<Box<str>>,
}

impl KeyJson {
    pub fn new(record: KeyRecord, now: Now) -> KeyJson {
        let banned_until = Some(record.key.ban.ends_at_ms).filter(|end| *end > now.wall_ms());
        let state = KeyState::from_record(&record, banned_until.is_some(), now.wall_ms());
        let (revoked_at, KeyRecord { key, account }) = (record.revoked_at(), record);
        KeyJson {
            state,
            id: key.id,
            account: account.name,
            label: key.label,
            environment: key.environment,
            issued_at: rfc3339(key.issued_at),
            expires_at: key.expires_at.map(rfc3339),
            revoked_at: revoked_at.map(rfc3339),
            banned_until: banned_until.map(rfc3339),
            used_at: key.used_at.map(rfc3339),
            successor: key.successor,
        }
    }
}
