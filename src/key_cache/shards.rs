//! A map in shards, each behind a lock of its own: a pass over entries, or a larger table for
//! more of them, holds up a 1024th of the look-ups.

use parking_lot::RwLock;
use std::collections::HashMap;

/// A million keys are a thousand a shard, which a pass visits within a millisecond.
pub const SHARD_COUNT: usize = 1_024;

/// Entries by keys that are spread evenly.
#[derive(Debug)]
pub struct Shards<K, V>(Vec<RwLock<HashMap<K, V>>>);

impl<K, V> Shards<K, V> {
    /// Without entries.
    pub fn new() -> Shards<K, V> {
        Shards((0..SHARD_COUNT).map(|_| RwLock::default()).collect())
    }

    /// The shard of this number, modulo [`SHARD_COUNT`].
    pub fn shard(&self, number: usize) -> &RwLock<HashMap<K, V>> {
        #[expect(clippy::indexing_slicing, reason = "there are SHARD_COUNT shards")]
        &self.0[number % SHARD_COUNT]
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.read().len()).sum()
    }
}
