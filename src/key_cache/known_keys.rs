//! The keys as of one version of the store, and why one is refused.

use crate::clock::Now;
use crate::keys::Digest;
use crate::store::{KeyRow, MIN_USE_INTERVAL_MS, Store, StoreError, Versions, is_expired};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// Why a key was refused: for the log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or none of the scheme `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not the form of a key of this environment.
    Malformed,
    /// Never issued here.
    Unknown,
    /// Revoked by the operator.
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
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// Every key that was ever issued, by its digest, as of one version of the store.
#[derive(Debug)]
pub struct KnownKeys {
    versions: Versions,
    keys: HashMap<Digest, KnownKey>,
}

/// A key that was issued.
#[derive(Debug)]
pub(super) struct KnownKey {
    pub(super) row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKeys {
    /// The keys as of these versions.
    pub fn new(versions: Versions, rows: impl IntoIterator<Item = (Digest, KeyRow)>) -> KnownKeys {
        let known = |row: KeyRow| KnownKey { used_at_ms: row.used_at_ms.into(), row };
        let keys = rows.into_iter().map(|(digest, row)| (digest, known(row))).collect();
        KnownKeys { versions, keys }
    }

    /// Reads the versions before the keys, so that a change in between is read again.
    pub(super) fn read(store: &dyn Store) -> Result<KnownKeys, StoreError> {
        let versions = store.poll_versions()?.versions;
        Ok(KnownKeys::new(versions, store.keys()?))
    }

    /// Whether the keys are those of these versions.
    pub(super) fn are_of(&self, versions: Versions) -> bool {
        let of_keys = |versions: Versions| (versions.history, versions.keys);
        of_keys(self.versions) == of_keys(versions)
    }

    /// Whether the keys hold every change up to these versions.
    pub(super) fn include(&self, versions: Versions) -> bool {
        self.versions.history == versions.history && self.versions.keys >= versions.keys
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key was ever issued.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of this digest; none if it was never issued.
    pub(super) fn find(&self, digest: &Digest, now: Now) -> Option<Result<&KnownKey, KeyRefusal>> {
        let key = self.keys.get(digest)?;
        Some(if key.row.revoked {
            Err(KeyRefusal::Revoked)
        } else if is_expired(key.row.expires_at_ms, now.wall_ms()) {
            Err(KeyRefusal::Expired)
        } else {
            Ok(key)
        })
    }
}

impl KnownKey {
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
