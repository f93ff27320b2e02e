//! Stores cached keys, and digests that no key has. Both are bounded in number; the least recently
//! used entries are evicted.

use super::KnownKey;
use crate::keys::Digest;
use crate::store::{KeyChange, KeyRow, Position};
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of cached keys, which take about 30 MB.
pub const MAX_CACHED_KEYS: usize = 100_000;

/// The maximum number of cached digests that no key has. They take less than 1 MB.
const MAX_ABSENT: usize = 4_096;

/// The cached keys, and the digests that no key has.
#[derive(Debug)]
pub struct CachedKeys {
    keys: Cache<Digest, Arc<KnownKey>>,
    /// Digests that no key has, each with the change number at its last lookup.
    absent: Cache<Digest, Position>,
}

impl Default for CachedKeys {
    fn default() -> CachedKeys {
        CachedKeys { keys: Cache::new(MAX_CACHED_KEYS), absent: Cache::new(MAX_ABSENT) }
    }
}

impl CachedKeys {
    /// Returns the cached key with this digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<KnownKey>> {
        self.keys.get(digest)
    }

    /// Returns the change at which a lookup found no key with this digest, or `None` without such a
    /// lookup.
    pub fn absent_at(&self, digest: &Digest) -> Option<Position> {
        self.absent.get(digest)
    }

    /// Records that no key had this digest at this change.
    pub fn add_absent(&self, digest: Digest, at: Position) {
        self.absent.insert(digest, at);
    }

    /// Creates a key from this row. Caches the key if `enters` is true.
    pub fn add(&self, digest: Digest, row: KeyRow, enters: bool) -> Arc<KnownKey> {
        let key = Arc::new(KnownKey::new(row, self.keys.peek(&digest).as_deref()));
        if enters {
            self.keys.insert(digest, Arc::clone(&key));
        }
        key
    }

    /// Updates the cached keys with these rows of accounts and keys. Ignores keys that are not
    /// cached.
    pub fn replace(&self, changes: Vec<KeyChange>) {
        let mut accounts = HashMap::new();
        for change in changes {
            match change {
                KeyChange::Account(account) => drop(accounts.insert(account.id, account)),
                KeyChange::Key(digest, row) => {
                    if let Some(before) = self.keys.peek(&digest) {
                        self.keys.insert(digest, Arc::new(KnownKey::new(row, Some(&before))));
                    }
                }
            }
        }
        if accounts.is_empty() {
            return;
        }
        let changed = |(digest, key): (Digest, Arc<KnownKey>)| {
            let account = accounts.get(&key.row.account.id)?.clone();
            Some((digest, Arc::new(key.with_account(account))))
        };
        // Collect first, because the iterator holds a lock that `insert` needs.
        let changed: Vec<_> = self.keys.iter().filter_map(changed).collect();
        changed.into_iter().for_each(|(digest, key)| self.keys.insert(digest, key));
    }

    /// Removes all keys.
    pub fn clear(&self) {
        self.keys.clear();
    }

    /// The number of cached keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if no key is cached.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}
