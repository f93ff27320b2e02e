//! A sharded map with change tracking.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

/// Requests of different accounts rarely share a lock, and a pass over all entries
/// holds up a 64th of them at a time.
const SHARD_COUNT: usize = 64;

/// Values by row number, and which of them have changed since the changes were
/// last taken. A lock is held for one look-up, or for a pass over one shard.
#[derive(Debug)]
pub struct ShardedMap<T> {
    shards: Vec<Mutex<Shard<T>>>,
}

#[derive(Debug, Default)]
struct Shard<T> {
    slots: HashMap<i64, Slot<T>>,
    /// Changed or removed rows, each once.
    changed: Vec<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot<T> {
    value: T,
    is_changed: bool,
}

/// A row number and its value; `None` if the value was removed.
pub type Change<T> = (i64, Option<T>);

impl<T: Copy + Default + PartialEq> ShardedMap<T> {
    /// An empty map.
    pub fn new() -> ShardedMap<T> {
        ShardedMap { shards: (0..SHARD_COUNT).map(|_| Mutex::default()).collect() }
    }

    /// The value of this row.
    pub fn get(&self, row: i64) -> Option<T> {
        self.shard(row).slots.get(&row).map(|slot| slot.value)
    }

    /// Updates the value of this row, from the default if there is none.
    pub fn update<R>(&self, row: i64, update: impl FnOnce(&mut T) -> R) -> R {
        let mut shard = self.shard(row);
        let Shard { slots, changed } = &mut *shard;
        let slot = slots.entry(row).or_default();
        let before = slot.value;
        let result = update(&mut slot.value);
        if slot.value != before && !slot.is_changed {
            slot.is_changed = true;
            changed.push(row);
        }
        result
    }

    /// What has changed since the last call of this or of [`ShardedMap::take_all`].
    pub fn take_changes(&self) -> Vec<Change<T>> {
        let mut changes = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            let Shard { slots, changed } = &mut *shard;
            changes.extend(changed.drain(..).map(|row| {
                let value = slots.get_mut(&row).map(|slot| {
                    slot.is_changed = false;
                    slot.value
                });
                (row, value)
            }));
        }
        changes
    }

    /// Every value; afterwards none counts as changed.
    pub fn take_all(&self) -> Vec<Change<T>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.changed.clear();
            all.extend(shard.slots.iter_mut().map(|(row, slot)| {
                slot.is_changed = false;
                (*row, Some(slot.value))
            }));
        }
        all
    }

    /// Updates the value of this row, from the default if there is none, without
    /// counting it as changed.
    pub fn restore(&self, row: i64, update: impl FnOnce(T) -> T) {
        let mut shard = self.shard(row);
        let slot = shard.slots.entry(row).or_default();
        slot.value = update(slot.value);
    }

    /// Removes the values for which this does not hold.
    pub fn retain(&self, holds: impl Fn(T) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let Shard { slots, changed } = &mut *shard;
            slots.retain(|row, slot| {
                let stays = holds(slot.value);
                if !stays && !slot.is_changed {
                    changed.push(*row);
                }
                stays
            });
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

    fn sorted(mut changes: Vec<Change<u32>>) -> Vec<Change<u32>> {
        changes.sort_unstable();
        changes
    }

    #[test]
    fn each_changed_row_is_taken_once() {
        let map: ShardedMap<u32> = ShardedMap::new();
        for row in [1, 2, 2, 65] {
            map.update(row, |value| *value += 1);
        }
        map.update(3, |_| ());
        let changes = sorted(map.take_changes());
        assert_eq!(changes, [(1, Some(1)), (2, Some(2)), (65, Some(1))]);
        assert_eq!(map.take_changes(), []);
        map.update(2, |_| ());
        assert_eq!(map.take_changes(), [], "the same value is no change");
        map.update(2, |value| *value = 7);
        assert_eq!(map.take_changes(), [(2, Some(7))]);
    }

    #[test]
    fn all_are_taken_and_none_counts_as_changed_afterwards() {
        let map: ShardedMap<u32> = ShardedMap::new();
        map.update(1, |value| *value = 7);
        map.restore(2, |value| value + 8);
        assert_eq!(sorted(map.take_all()), [(1, Some(7)), (2, Some(8))]);
        assert_eq!(map.take_changes(), []);
        map.update(1, |value| *value = 9);
        assert_eq!(map.take_changes(), [(1, Some(9))]);
    }

    #[test]
    fn a_row_that_does_not_stay_is_one_change() {
        let map: ShardedMap<u32> = ShardedMap::new();
        for row in 1..=3 {
            map.update(row, |value| *value = row as u32);
        }
        map.take_changes();
        map.update(2, |value| *value = 20);
        map.retain(|value| value == 3);
        assert_eq!(sorted(map.take_changes()), [(1, None), (2, None)]);
        assert_eq!([1, 2, 3].map(|row| map.get(row)), [None, None, Some(3)]);
    }
}
