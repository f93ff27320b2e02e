//! The output for a key: its columns, its state and its ban.

use crate::api_key::Environment;
use crate::cli::table::Column;
use crate::cli::timestamp::rfc3339;
use crate::clock::Now;
use crate::store::KeyRecord;
use clap::ValueEnum;
use serde::Serialize;

/// The columns of a table of keys.
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

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Valid, and not replaced
    Active,
    /// Replaced, and still valid until it expires
    Rotated,
    /// Valid, but refused for a while, because it kept sending after a 429
    Banned,
    /// Past its end
    Expired,
    /// Ended by `keys revoke` or `accounts close`
    Revoked,
}

impl KeyState {
    fn from_record(key: &KeyRecord, is_banned: bool, now_ms: i64) -> KeyState {
        if key.revoked_at.is_some() {
            KeyState::Revoked
        } else if key.expires_at.is_some_and(|end| end <= now_ms) {
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

/// A key as JSON, without the key itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyJson {
    pub id: String,
    pub account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
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
    successor: Option<String>,
}

impl KeyJson {
    /// Converts the record of a key; its state depends on `now`.
    pub fn new(key: KeyRecord, now: Now) -> KeyJson {
        let banned_until = Some(key.ban.ends_at_ms).filter(|end| *end > now.wall_ms());
        KeyJson {
            state: KeyState::from_record(&key, banned_until.is_some(), now.wall_ms()),
            id: key.id,
            account: key.account,
            label: key.label,
            environment: key.environment,
            issued_at: rfc3339(key.issued_at),
            expires_at: key.expires_at.map(rfc3339),
            revoked_at: key.revoked_at.map(rfc3339),
            banned_until: banned_until.map(rfc3339),
            used_at: key.used_at.map(rfc3339),
            successor: key.successor,
        }
    }
}
