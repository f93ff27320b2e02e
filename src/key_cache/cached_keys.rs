//! A bounded number of keys, and of digests without a key. Those that are not used for long make room
//! for others.

use super::KnownKey;
use crate::keys::Digest;
use crate::store::{ChangeNumber, KeyChange, KeyRow};
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;

/// Keys in use beyond this number are looked up again. They take about 30 MB.
pub const MAX_CACHED_KEYS: usize = 100_000;

/// Digests without a key beyond this number are looked up again. They take less than 1 MB.
const MAX_ABSENT: usize = 4_096;

/// The keys that are held in memory.
#[derive(Debug)]
pub struct CachedKeys {
    keys: Cache<Digest, Arc<KnownKey>>,
    /// Digests that no key had when the keys were at this change.
    absent: Cache<Digest, ChangeNumber>,
}

impl Default for CachedKeys {
    fn default() -> CachedKeys {
        CachedKeys { keys: Cache::new(MAX_CACHED_KEYS), absent: Cache::new(MAX_ABSENT) }
    }
}

impl CachedKeys {
    /// The key of this digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<KnownKey>> {
        self.keys.get(digest)
    }

    /// The change of keys at which no key had this digest, if that is known.
    pub fn absent_at(&self, digest: &Digest) -> Option<ChangeNumber> {
        self.absent.get(digest)
    }

    /// Notes that no key has this digest at this change.
    pub fn note_absent(&self, digest: Digest, at: ChangeNumber) {
        self.absent.insert(digest, at);
    }

    /// The key with this row, which enters if it may.
    pub fn known(&self, digest: Digest, row: KeyRow, enters: bool) -> Arc<KnownKey> {
        let key = Arc::new(KnownKey::new(row, self.keys.peek(&digest).as_deref()));
        if enters {
            self.keys.insert(digest, Arc::clone(&key));
        }
        key
    }

    /// Takes these accounts and keys in place of those that it has.
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
            Some((digest, Arc::new(key.of_account(account))))
        };
        // Collected first: the iterator holds a lock.
        let changed: Vec<_> = self.keys.iter().filter_map(changed).collect();
        changed.into_iter().for_each(|(digest, key)| self.keys.insert(digest, key));
    }

    /// Removes all.
    pub fn clear(&self) {
        self.keys.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}
