//! The keys as of one version of the store, and why one is refused. A change of a key changes
//! one entry.

use crate::clock::Now;
use crate::keys::{Digest, Environment};
use crate::store::{HalfVersion, KeyRow, MIN_USE_INTERVAL_MS, Store, StoreError, is_expired};
use std::collections::HashMap;
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
    /// Never issued here, or ended more than 30 days ago.
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
            KeyRefusal::OtherEnvironment(_) => "key_of_other_environment",
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// How long after its end a key is remembered, so that the log says why it is refused: 30 days.
/// Later it is unknown.
const REMEMBERED_MS: i64 = 30 * 86_400_000;

/// The keys by their digests, as of one version of the store.
#[derive(Debug)]
pub struct KnownKeys {
    version: HalfVersion,
    /// In boxes, so that the room that the map keeps free stays small.
    keys: HashMap<Digest, Box<KnownKey>>,
    /// Wall time in milliseconds at which those that ended long ago were last forgotten.
    tidied_at_ms: i64,
}

/// A key that was issued.
#[derive(Debug)]
pub(super) struct KnownKey {
    pub(super) row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKeys {
    /// These keys, as of this version.
    pub fn new(
        version: HalfVersion,
        rows: impl IntoIterator<Item = (Digest, KeyRow)>,
    ) -> KnownKeys {
        let (keys, tidied_at_ms) = (HashMap::new(), i64::MIN);
        let mut known = KnownKeys { version, keys, tidied_at_ms };
        rows.into_iter().for_each(|(digest, row)| known.insert(digest, row));
        known
    }

    /// Reads the keys that changed after this version, all of them but those that ended long ago
    /// from the beginning on.
    pub(super) fn read(
        store: &dyn Store,
        after: HalfVersion,
        now_ms: i64,
    ) -> Result<KnownKeys, StoreError> {
        let mut read = KnownKeys::new(after, []);
        read.version = store.for_each_key_since(after, &mut |digest, row| {
            if after.number > 0 || !ended_long_ago(&row, now_ms) {
                read.insert(digest, row);
            }
        })?;
        read.tidied_at_ms = now_ms;
        Ok(read)
    }

    /// Adds what was read after this version, in place of what was known of the same keys.
    pub(super) fn apply(&mut self, changed: KnownKeys) {
        self.version = changed.version;
        for (digest, key) in changed.keys {
            if let Some(known) = self.keys.get(&digest) {
                // What this server knows of its uses may not be recorded yet.
                key.used_at_ms.store(known.used_at_ms.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            self.keys.insert(digest, key);
        }
    }

    /// Forgets the keys that ended long ago.
    pub(super) fn tidy(&mut self, now_ms: i64) {
        self.keys.retain(|_, key| !ended_long_ago(&key.row, now_ms));
        self.keys.shrink_to(2 * self.keys.len());
        self.tidied_at_ms = now_ms;
    }

    /// How long ago keys were forgotten, in milliseconds: negative after the wall clock was set
    /// back.
    pub(super) fn tidied_ago_ms(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(self.tidied_at_ms)
    }

    /// Whether some that were forgotten are valid again, because the wall clock was set back.
    pub(super) fn have_forgotten_too_much(&self, now_ms: i64) -> bool {
        self.tidied_ago_ms(now_ms) < -REMEMBERED_MS
    }

    /// The version that they are of.
    pub(super) fn version(&self) -> HalfVersion {
        self.version
    }

    fn insert(&mut self, digest: Digest, row: KeyRow) {
        let used_at_ms = row.used_at_ms.into();
        self.keys.insert(digest, Box::new(KnownKey { row, used_at_ms }));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of this digest; none if it is not known.
    pub(super) fn find(&self, digest: &Digest, now: Now) -> Option<Result<&KnownKey, KeyRefusal>> {
        let key = self.keys.get(digest)?;
        Some(if key.row.revoked {
            Err(KeyRefusal::Revoked)
        } else if is_expired(key.row.ends_at_ms, now.wall_ms()) {
            Err(KeyRefusal::Expired)
        } else {
            Ok(key)
        })
    }
}

fn ended_long_ago(key: &KeyRow, now_ms: i64) -> bool {
    is_expired(key.ends_at_ms, now_ms.saturating_sub(REMEMBERED_MS))
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
