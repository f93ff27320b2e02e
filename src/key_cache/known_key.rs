//! A key with its account, and why a key is refused.

use crate::clock::Now;
use crate::keys::Environment;
use crate::limits::KeyedRequest;
use crate::store::{AccountRow, KeyRow, MIN_USE_INTERVAL_MS, is_expired};
use std::sync::atomic::{AtomicI64, Ordering};

/// Why a key was refused: for the log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or none of the scheme `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not the form of a key.
    Malformed,
    /// The form of a key of this other environment.
    OtherEnvironment(Environment),
    /// Never issued here.
    Unknown,
    /// Revoked by the operator, or ended with its account.
    Revoked,
    /// Past its end.
    Expired,
}

impl KeyRefusal {
    /// The reason as the log writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyRefusal::NoKey => "no_key",
            KeyRefusal::SeveralHeaders => "several_authorization_headers",
            KeyRefusal::Malformed => "malformed_key",
            KeyRefusal::OtherEnvironment(_) => "key_of_other_environment",
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// A key that was issued, and its account: authentication, limits and the log share it.
#[derive(Debug)]
pub struct KnownKey {
    /// As the store had it.
    pub row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKey {
    /// This row, which replaces what was known before: the store may not have its last uses yet.
    pub(super) fn new(row: KeyRow, before: Option<&KnownKey>) -> KnownKey {
        let stored = row.used_at_ms;
        let used_at_ms = before.map_or(stored, |before| before.used_at_ms.load(Ordering::Relaxed));
        KnownKey { row, used_at_ms: used_at_ms.into() }
    }

    /// The key of the account in this state.
    pub(super) fn of_account(&self, account: AccountRow) -> KnownKey {
        KnownKey::new(KeyRow { account, ..self.row.clone() }, Some(self))
    }

    /// Why it is refused at this time, if it is.
    pub(super) fn refusal(&self, now: Now) -> Option<KeyRefusal> {
        if self.row.is_revoked || self.row.account.is_closed {
            return Some(KeyRefusal::Revoked);
        }
        is_expired(self.row.expires_at_ms, now.wall_ms()).then_some(KeyRefusal::Expired)
    }

    /// Whether this use is to be recorded: true for one caller a minute.
    pub(super) fn takes_use(&self, now_ms: i64) -> bool {
        let last = self.used_at_ms.load(Ordering::Relaxed);
        // abs_diff: after a step back of the wall clock, uses must be recorded too.
        now_ms.abs_diff(last) >= MIN_USE_INTERVAL_MS.unsigned_abs()
            && self
                .used_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// What the limits need of a request with it.
    pub fn request(&self) -> KeyedRequest {
        KeyedRequest {
            account: self.row.account.id,
            key: self.row.row,
            limits: self.row.account.limits,
            ban: self.row.ban,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_reason_of_its_own_in_the_log() {
        use KeyRefusal::{Expired, Malformed, NoKey, Revoked, SeveralHeaders, Unknown};
        let refusals = [NoKey, SeveralHeaders, Malformed, Unknown, Revoked, Expired];
        let reasons = [
            "no_key",
            "several_authorization_headers",
            "malformed_key",
            "unknown_key",
            "revoked_key",
            "expired_key",
        ];
        assert_eq!(refusals.map(KeyRefusal::as_str), reasons);
    }
}
