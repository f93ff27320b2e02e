//! Rows by number, spread over locks, and which of them have changed since
//! somebody last asked.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many locks: requests of different accounts seldom meet, and whoever goes
/// through all rows holds up a small part of them at a time.
const SHARDS: usize = 64;

/// A table of rows. Every lock is held for one look-up and a few additions, or
/// for one pass over a 64th of the rows.
#[derive(Debug)]
pub struct Table<T> {
    shards: Vec<Mutex<Shard<T>>>,
}

#[derive(Debug, Default)]
struct Shard<T> {
    rows: HashMap<i64, Row<T>>,
    /// Numbers of rows that were changed, or are gone, each of them once.
    changed: Vec<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row<T> {
    value: T,
    is_listed: bool,
}

/// A number and the row there is under it; none if it is gone.
pub type Change<T> = (i64, Option<T>);

impl<T: Copy + Default + PartialEq> Table<T> {
    /// No rows yet.
    pub fn new() -> Table<T> {
        let shard = || Mutex::new(Shard { rows: HashMap::new(), changed: Vec::new() });
        Table { shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    /// The row of this number.
    pub fn get(&self, number: i64) -> Option<T> {
        self.shard(number).rows.get(&number).map(|row| row.value)
    }

    /// Changes the row of this number, which is created at need.
    pub fn change<R>(&self, number: i64, change: impl FnOnce(&mut T) -> R) -> R {
        let mut shard = self.shard(number);
        let Shard { rows, changed } = &mut *shard;
        let row = rows.entry(number).or_default();
        let before = row.value;
        let result = change(&mut row.value);
        if row.value != before && !row.is_listed {
            row.is_listed = true;
            changed.push(number);
        }
        result
    }

    /// What has changed since the last call of this or of [`Table::all`].
    pub fn changes(&self) -> Vec<Change<T>> {
        let mut changes = Vec::new();
        for shard in &self.shards {
            let mut shard = unpoisoned(shard);
            let Shard { rows, changed } = &mut *shard;
            changes.extend(changed.drain(..).map(|number| {
                let row = rows.get_mut(&number);
                (
                    number,
                    row.map(|row| {
                        row.is_listed = false;
                        row.value
                    }),
                )
            }));
        }
        changes
    }

    /// Every row there is; none of them counts as changed any more.
    pub fn all(&self) -> Vec<Change<T>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let mut shard = unpoisoned(shard);
            shard.changed.clear();
            all.extend(shard.rows.iter_mut().map(|(number, row)| {
                row.is_listed = false;
                (*number, Some(row.value))
            }));
        }
        all
    }

    /// Puts a row there that does not count as changed.
    pub fn restore(&self, number: i64, value: T) {
        self.shard(number).rows.insert(number, Row { value, is_listed: false });
    }

    /// Removes the rows for which this does not hold.
    pub fn retain(&self, holds: impl Fn(T) -> bool) {
        for shard in &self.shards {
            let mut shard = unpoisoned(shard);
            let Shard { rows, changed } = &mut *shard;
            rows.retain(|number, row| {
                let stays = holds(row.value);
                if !stays && !row.is_listed {
                    changed.push(*number);
                }
                stays
            });
        }
    }

    /// Rows are numbered one after the other, so the remainder spreads them
    /// evenly.
    fn shard(&self, number: i64) -> MutexGuard<'_, Shard<T>> {
        let index = number.unsigned_abs() as usize % SHARDS;
        #[expect(clippy::indexing_slicing, reason = "there are SHARDS shards")]
        unpoisoned(&self.shards[index])
    }
}

/// Rows are plain numbers, whole after every step: a panic elsewhere does not
/// spoil them.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
