//! A sharded map that knows whether it has changed.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::mem;

/// Requests of different accounts rarely share a lock, and a pass over all entries locks one shard
/// at a time.
const SHARD_COUNT: usize = 64;

/// Values by row number. A lock is held for one look-up, or for a pass over one shard.
#[derive(Debug)]
pub struct ShardedMap<T> {
    shards: Vec<Mutex<Shard<T>>>,
}

#[derive(Debug, Default)]
struct Shard<T> {
    values: HashMap<i64, T>,
    has_changed: bool,
}

impl<T: Copy + Default + PartialEq> ShardedMap<T> {
    /// An empty map.
    pub fn new() -> ShardedMap<T> {
        ShardedMap { shards: (0..SHARD_COUNT).map(|_| Mutex::default()).collect() }
    }

    /// The value of this row.
    pub fn get(&self, row: i64) -> Option<T> {
        self.shard(row).values.get(&row).copied()
    }

    /// Updates the value of this row, from the default if there is none.
    pub fn update<R>(&self, row: i64, update: impl FnOnce(&mut T) -> R) -> R {
        let mut shard = self.shard(row);
        let Shard { values, has_changed } = &mut *shard;
        let value = values.entry(row).or_default();
        let before = *value;
        let result = update(value);
        *has_changed |= *value != before;
        result
    }

    /// Whether anything has changed since the last call.
    pub fn take_changed(&self) -> bool {
        let take = |shard: &Mutex<Shard<T>>| mem::take(&mut shard.lock().has_changed);
        self.shards.iter().fold(false, |any, shard| take(shard) | any)
    }

    /// The values that `map` keeps, as it returns them, by row.
    pub fn filter_map<U>(&self, map: impl Fn(T) -> Option<U>) -> Vec<(i64, U)> {
        let mut mapped = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            mapped.extend(shard.values.iter().filter_map(|(row, value)| {
                let value = map(*value)?;
                Some((*row, value))
            }));
        }
        mapped
    }

    /// Keeps the values for which `holds` is true. A removal is not a change: only values that nobody
    /// reads again may be removed.
    pub fn retain(&self, holds: impl Fn(T) -> bool) {
        for shard in &self.shards {
            shard.lock().values.retain(|_, value| holds(*value));
        }
    }

    /// Row numbers are consecutive, so the remainder spreads them evenly.
    fn shard(&self, row: i64) -> MutexGuard<'_, Shard<T>> {
        let index = row.unsigned_abs() as usize % SHARD_COUNT;
        #[expect(clippy::indexing_slicing, reason = "there are SHARD_COUNT shards")]
        self.shards[index].lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_reported_once() {
        let map: ShardedMap<u32> = ShardedMap::new();
        assert!(!map.take_changed());
        for row in [1, 2, 2, 65] {
            map.update(row, |value| *value += 1);
        }
        assert!(map.take_changed());
        assert!(!map.take_changed());
        map.update(2, |_| ());
        assert!(!map.take_changed(), "the same value is no change");
        map.update(2, |value| *value = 7);
        assert!(map.take_changed());
        map.retain(|value| value == 7);
        assert!(!map.take_changed(), "nobody looks at what was removed");
        assert_eq!([1, 2, 65].map(|row| map.get(row)), [None, Some(7), None]);
        assert_eq!(map.filter_map(Some), [(2, 7)]);
        assert_eq!(map.filter_map(|value| (value != 7).then_some(value)), []);
    }
}
