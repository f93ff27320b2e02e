//! A bounded number of keys, by their digests. Of keys that are not used for long, others take the
//! place.

use super::KnownKey;
use crate::keys::Digest;
use crate::store::{KeyChange, KeyRow};
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::Arc;

/// Keys in use beyond this number are looked up again. They take about 30 MB.
pub const MAX_CACHED_KEYS: usize = 100_000;

/// The keys that are held in memory.
#[derive(Debug)]
pub struct CachedKeys(Cache<Digest, Arc<KnownKey>>);

impl Default for CachedKeys {
    fn default() -> CachedKeys {
        CachedKeys(Cache::new(MAX_CACHED_KEYS))
    }
}

impl CachedKeys {
    /// The key of this digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<KnownKey>> {
        self.0.get(digest)
    }

    /// The key with this row, which enters if it may.
    pub fn known(&self, digest: Digest, row: KeyRow, enters: bool) -> Arc<KnownKey> {
        let key = Arc::new(KnownKey::new(row, self.0.peek(&digest).as_deref()));
        if enters {
            self.0.insert(digest, Arc::clone(&key));
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
                    if let Some(before) = self.0.peek(&digest) {
                        self.0.insert(digest, Arc::new(KnownKey::new(row, Some(&before))));
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
        let changed: Vec<_> = self.0.iter().filter_map(changed).collect();
        changed.into_iter().for_each(|(digest, key)| self.0.insert(digest, key));
    }

    /// Removes all.
    pub fn clear(&self) {
        self.0.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
