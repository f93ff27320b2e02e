//! A cached key with its account, and the reasons for refusing a key.

use crate::clock::Now;
use crate::keys::Environment;
use crate::limits::KeyedRequest;
use crate::store::{AccountRow, KeyRow, MIN_USE_INTERVAL_MS, is_expired};
use std::sync::atomic::{AtomicI64, Ordering};

/// The reason for refusing a key. It appears in the log. A response does not show whether the key
/// is unknown, revoked or expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or a header with another scheme than `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not a well-formed key.
    Malformed,
    /// A well-formed key of another environment.
    OtherEnvironment(Environment),
    /// The store has no such key.
    Unknown,
    /// The operator revoked the key or closed its account.
    Revoked,
    /// The key is past its expiry.
    Expired,
}

impl KeyRefusal {
    /// The reason in the log.
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

/// An issued key and its account. Authentication, rate limits and the log share it.
#[derive(Debug)]
pub struct KnownKey {
    /// The key's row, as it was read from the store.
    pub row: KeyRow,
    /// Wall time in milliseconds of the last use that is recorded or queued to be recorded.
    used_at_ms: AtomicI64,
}

impl KnownKey {
    /// Creates a key from its row. `before` is the cached key that the new one replaces. The last
    /// use of `before` is kept, because the store may not have it yet.
    pub(super) fn new(row: KeyRow, before: Option<&KnownKey>) -> KnownKey {
        let stored = row.used_at_ms;
        let used_at_ms = before.map_or(stored, |before| before.used_at_ms.load(Ordering::Relaxed));
        KnownKey { row, used_at_ms: used_at_ms.into() }
    }

    /// Returns the key with a new state of its account.
    pub(super) fn with_account(&self, account: AccountRow) -> KnownKey {
        KnownKey::new(KeyRow { account, ..self.row.clone() }, Some(self))
    }

    /// Returns the reason for refusing the key at this time, or `None` if the key is valid.
    pub(super) fn refusal(&self, now: Now) -> Option<KeyRefusal> {
        if self.row.is_revoked || self.row.account.is_closed {
            return Some(KeyRefusal::Revoked);
        }
        is_expired(self.row.expires_at_ms, now.wall_ms()).then_some(KeyRefusal::Expired)
    }

    /// Returns true if the caller must record this use. At most one caller per minute gets true.
    pub(super) fn claim_use(&self, now_ms: i64) -> bool {
        let last = self.used_at_ms.load(Ordering::Relaxed);
        // `abs_diff`, so that uses are also recorded after the wall clock was set back.
        now_ms.abs_diff(last) >= MIN_USE_INTERVAL_MS.unsigned_abs()
            && self
                .used_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Returns a request with this key, for the rate limiter.
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
    fn each_refusal_has_its_own_reason_in_the_log() {
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
