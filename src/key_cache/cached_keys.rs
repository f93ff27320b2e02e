//! Two caches with a bounded number of entries: the keys with their accounts, and digests that no
//! key has.
//!
//! Only this file replaces cached keys. An older row never replaces a newer row, as
//! [`key_cache`](super) explains. When a row replaces a cached key, the key keeps its cached time
//! of last use, because the store may not have that time yet.

use crate::api_key::{Digest, Environment, is_expired};
use crate::clock::Now;
use crate::rate_limiter::{KeyBan, KeyedRequest};
use crate::store::agreement::key_cache::{KeysCatchUp, keys_catch_up, may_enter_cache};
use crate::store::{Account, KeyChange, KeyRecord, MIN_USE_INTERVAL_MS, Position};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The maximum number of cached keys, which take less than 40 MB.
pub const MAX_CACHED_KEYS: usize = 100_000;

/// The maximum number of cached digests that no key has. They take less than 1 MB.
const MAX_ABSENT: usize = 4_096;

#[derive(Debug)]
pub struct CachedKeys {
    keys: Cache<Digest, Arc<KnownKey>>,
    /// The last change that `keys` reflects. Locked while keys are replaced. Requests with a cached
    /// key do not wait for this lock.
    reflected: Mutex<Position>,
    /// Digests that no key has. The value is the store's position when the digest was last looked
    /// up.
    absent: Cache<Digest, Position>,
}

impl CachedKeys {
    pub fn new(reflected: Position) -> CachedKeys {
        CachedKeys {
            keys: Cache::new(MAX_CACHED_KEYS),
            reflected: Mutex::new(reflected),
            absent: Cache::new(MAX_ABSENT),
        }
    }

    pub fn get(&self, digest: &Digest) -> Option<Arc<KnownKey>> {
        self.keys.get(digest)
    }

    /// Returns the position at which a lookup found no key with this digest. Returns `None` if no
    /// such lookup is cached.
    pub fn absent_at(&self, digest: &Digest) -> Option<Position> {
        self.absent.get(digest)
    }

    pub fn reflected(&self) -> Position {
        *self.reflected.lock()
    }

    /// Returns the keys in `rows`, the result of a lookup for `digests` at the position `read`.
    /// Caches the keys unless the cache reflects later changes or another history. Always caches
    /// digests without a row as absent. The entry of an absent digest records `read`, so an
    /// outdated entry can be recognized.
    pub fn insert_looked_up(
        &self,
        digests: impl Iterator<Item = Digest>,
        rows: Vec<KeyRecord>,
        read: Position,
    ) -> HashMap<Digest, Arc<KnownKey>> {
        let reflected = self.reflected.lock();
        let is_cacheable = may_enter_cache(read, *reflected);
        let mut keys = HashMap::new();
        for row in rows {
            let digest = row.key.digest;
            let key = Arc::new(KnownKey::new(row, read, self.keys.peek(&digest).as_deref()));
            if is_cacheable {
                self.keys.insert(digest, Arc::clone(&key));
            }
            keys.insert(digest, key);
        }
        drop(reflected);
        let absent = digests.filter(|digest| !keys.contains_key(digest));
        absent.for_each(|digest| self.absent.insert(digest, read));
        keys
    }

    /// Brings the cached keys to the position `stored`. `changes` are the accounts and keys that
    /// changed after the position `after`. If `changes` does not cover all changes that the cache
    /// lacks, removes all keys instead.
    pub fn catch_up(&self, stored: Position, after: Position, changes: Option<Vec<KeyChange>>) {
        let mut reflected = self.reflected.lock();
        let rows_after = changes.as_ref().map(|_| after);
        match keys_catch_up(*reflected, stored, rows_after) {
            KeysCatchUp::Current => {}
            KeysCatchUp::Rows(change) => {
                self.replace(changes.unwrap_or_default(), change);
                *reflected = change;
            }
            KeysCatchUp::Empty(change) => {
                self.keys.clear();
                *reflected = change;
            }
        }
    }

    /// Updates the cached keys with these changed rows, which were read at the position `read`.
    /// Skips keys that are not cached, and cached keys that were read at a later position.
    fn replace(&self, changes: Vec<KeyChange>, read: Position) {
        let mut accounts = HashMap::new();
        for change in changes {
            match change {
                KeyChange::Account(account) => drop(accounts.insert(account.id, account)),
                KeyChange::Key(row) => {
                    let digest = row.key.digest;
                    let before = self.keys.peek(&digest);
                    if let Some(before) = before.filter(|before| !before.read.has_more_than(read)) {
                        self.keys.insert(digest, Arc::new(KnownKey::new(row, read, Some(&before))));
                    }
                }
            }
        }
        if accounts.is_empty() {
            return;
        }
        let changed = |(digest, key): (Digest, Arc<KnownKey>)| {
            let account = accounts.get(&key.account.id)?.clone();
            let is_older = !key.read.has_more_than(read);
            is_older.then(|| (digest, Arc::new(key.with_account(account, read))))
        };
        // Collect first, because the iterator holds a lock that `insert` needs.
        let changed: Vec<_> = self.keys.iter().filter_map(changed).collect();
        changed.into_iter().for_each(|(digest, key)| self.keys.insert(digest, key));
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// The reason for refusing a key. The response does not show whether the key is unknown, revoked or
/// expired. The log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// The request has no `Authorization` header, or one without a bearer token.
    NoKey,
    SeveralHeaders,
    Malformed,
    /// The key is well-formed, but its environment is not the server's. Contains the key's
    /// environment.
    OtherEnvironment(Environment),
    Unknown,
    /// The operator revoked the key or closed its account.
    Revoked,
    Expired,
}

impl KeyRefusal {
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

/// An issued key and its account. Contains only the fields that requests need, because the cache
/// may contain up to [`MAX_CACHED_KEYS`] keys.
#[derive(Debug)]
pub struct KnownKey {
    /// The key's public name, `key_…`, which also appears in logs.
    pub id: Arc<str>,
    pub account: Account,
    pub(super) row: i64,
    /// The key is refused from this wall time on, in milliseconds. `None` if the key does not
    /// expire.
    expires_at_ms: Option<i64>,
    /// True if the operator revoked this key. Closing its account does not set this field.
    is_revoked: bool,
    /// The key's latest ban. A lifted ban has the length 0.
    ban: KeyBan,
    /// The key and its account reflect all changes up to this position.
    read: Position,
    /// The wall time of the key's last use, in milliseconds. The store may not have recorded this
    /// use yet.
    used_at_ms: AtomicI64,
}

impl KnownKey {
    /// Creates a key's cache entry from the key's row. `before` is the key's previous entry, if the
    /// cache has one. In this case, the last use comes from `before`, because the store may not
    /// have recorded that use yet.
    fn new(row: KeyRecord, read: Position, before: Option<&KnownKey>) -> KnownKey {
        let KeyRecord { key, account } = row;
        let used_at_ms = before.map_or(key.used_at.unwrap_or(0), KnownKey::used_at_ms);
        KnownKey {
            id: key.id.into(),
            account,
            row: key.row,
            expires_at_ms: key.expires_at,
            is_revoked: key.revoked_at.is_some(),
            ban: key.ban,
            read,
            used_at_ms: used_at_ms.into(),
        }
    }

    /// `read` is the position at which `account` was read.
    fn with_account(&self, account: Account, read: Position) -> KnownKey {
        let (id, used_at_ms) = (Arc::clone(&self.id), self.used_at_ms().into());
        KnownKey { id, account, read, used_at_ms, ..*self }
    }

    fn used_at_ms(&self) -> i64 {
        self.used_at_ms.load(Ordering::Relaxed)
    }

    pub(super) fn refusal(&self, now: Now) -> Option<KeyRefusal> {
        if self.is_revoked || self.account.closed_at.is_some() {
            return Some(KeyRefusal::Revoked);
        }
        is_expired(self.expires_at_ms, now.wall_ms()).then_some(KeyRefusal::Expired)
    }

    /// Returns true if the caller must record this use. At most one caller per minute gets true.
    pub(super) fn claim_use(&self, now_ms: i64) -> bool {
        let last = self.used_at_ms();
        // Use `abs_diff`, so that uses are also recorded after the wall clock was set back.
        now_ms.abs_diff(last) >= MIN_USE_INTERVAL_MS.unsigned_abs()
            && self
                .used_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    pub fn request(&self) -> KeyedRequest {
        KeyedRequest {
            account: self.account.id,
            key: self.row,
            limits: self.account.plan.limits,
            ban: self.ban,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{AccountPlan, Key};
    use chrono::DateTime;
    use store_orders_api::plans::{Plan, PlanLimits};

    const DIGEST: Digest = Digest([7; 32]);

    fn key(is_revoked: bool, is_closed: bool) -> KeyRecord {
        let limits = PlanLimits { per_minute: 60, per_day: 1_000 };
        let key = Key {
            row: 1,
            id: "key_1".into(),
            account: 1,
            environment: Environment::Production,
            digest: DIGEST,
            label: None,
            issued_at: 0,
            expires_at: None,
            revoked_at: is_revoked.then_some(1),
            used_at: None,
            successor: None,
            ban: KeyBan::default(),
        };
        let account = Account {
            id: 1,
            name: "acme".into(),
            plan: AccountPlan { name: Plan::Free, limits },
            created_at: DateTime::UNIX_EPOCH,
            closed_at: is_closed.then_some(DateTime::UNIX_EPOCH),
        };
        KeyRecord { key, account }
    }

    /// A lookup reads a revocation. Then an older answer of a poll arrives, without the revocation.
    /// The answer must not make the key valid again.
    #[test]
    fn a_late_refresh_does_not_replace_the_rows_of_a_lookup() {
        let position = |number| Position { history: 0, number };
        let open = key(false, false);
        for change in [KeyChange::Account(open.account.clone()), KeyChange::Key(open)] {
            let (cached, revoked) = (CachedKeys::new(position(5)), vec![key(true, true)]);
            cached.insert_looked_up([DIGEST].into_iter(), revoked, position(7));
            cached.catch_up(position(6), position(5), Some(vec![change]));
            let cached_key = cached.get(&DIGEST).unwrap();
            assert!(
                cached_key.is_revoked && cached_key.account.closed_at.is_some(),
                "{cached_key:?}"
            );
            let reopened = KeyChange::Account(key(true, false).account);
            cached.catch_up(position(8), position(6), Some(vec![reopened]));
            assert!(cached.get(&DIGEST).unwrap().account.closed_at.is_none());
        }
    }

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
