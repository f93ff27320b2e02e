//! A sharded map that tracks changes of its values.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::mem;

/// Enough shards that requests of different accounts rarely share a lock.
const SHARD_COUNT: usize = 64;

/// Values by row number. Each lookup locks one shard; iterating locks one shard at a time.
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
    /// Creates an empty map.
    pub fn new() -> ShardedMap<T> {
        ShardedMap { shards: (0..SHARD_COUNT).map(|_| Mutex::default()).collect() }
    }

    /// Returns the value of this row.
    pub fn get(&self, row: i64) -> Option<T> {
        self.shard(row).values.get(&row).copied()
    }

    /// Updates the value of this row. A missing value starts as the default.
    pub fn update<R>(&self, row: i64, update: impl FnOnce(&mut T) -> R) -> R {
        let mut shard = self.shard(row);
        let Shard { values, has_changed } = &mut *shard;
        let value = values.entry(row).or_default();
        let before = *value;
        let result = update(value);
        *has_changed |= *value != before;
        result
    }

    /// Returns true if any value has changed since the last call.
    pub fn take_changed(&self) -> bool {
        let take = |shard: &Mutex<Shard<T>>| mem::take(&mut shard.lock().has_changed);
        self.shards.iter().fold(false, |any, shard| take(shard) | any)
    }

    /// Applies `map` to all values. Returns each row whose result is not `None`, with the result.
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

    /// Removes the values for which `keep` returns false. Removals do not count as changes, so the
    /// caller must only remove values that no longer matter.
    pub fn retain(&self, keep: impl Fn(T) -> bool) {
        for shard in &self.shards {
            shard.lock().values.retain(|_, value| keep(*value));
        }
    }

    /// Locks the shard of this row. Row numbers are consecutive, so the remainder distributes them
    /// evenly.
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
        assert!(!map.take_changed(), "setting the same value is not a change");
        map.update(2, |value| *value = 7);
        assert!(map.take_changed());
        map.retain(|value| value == 7);
        assert!(!map.take_changed(), "a removal is not a change");
        assert_eq!([1, 2, 65].map(|row| map.get(row)), [None, Some(7), None]);
        assert_eq!(map.filter_map(Some), [(2, 7)]);
        assert_eq!(map.filter_map(|value| (value != 7).then_some(value)), []);
    }
}
