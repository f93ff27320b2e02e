//! How the cached keys follow the store, and until when a key counts that was read.

use super::change_numbers::{ChangeNumber, LastChanges};
use super::lease::Time;
use super::list::{CatchUp, ListState};
use std::time::Duration;

/// How long keys are current after the store was last asked: within this time a revocation holds, or
/// no key is accepted.
pub const KEYS_CURRENT_FOR: Duration = Duration::from_secs(1);

/// Whether keys that were known as of then are current now.
pub fn keys_are_current<T: Time>(as_of: T, now: T) -> bool {
    now <= as_of + KEYS_CURRENT_FOR
}

/// What brings cached keys to what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysCatchUp {
    /// They reflect it.
    Current,
    /// The rows that came with the answer replace those in the cache, which leads to this change.
    Rows(ChangeNumber),
    /// Too much has changed, or the store is of another generation: the cache is emptied, and then
    /// reflects this change.
    Empty(ChangeNumber),
}

/// Plans how cached keys that reflect a change follow the store to another one. Rows came with the
/// answer that are all that changed between `rows_after` and it.
pub fn keys_catch_up(
    cached: ChangeNumber,
    stored: ChangeNumber,
    rows_after: Option<ChangeNumber>,
) -> KeysCatchUp {
    match ListState::<(), ()>::new((), cached).plan(stored, rows_after) {
        CatchUp::Nothing => KeysCatchUp::Current,
        CatchUp::Rows(reached) => KeysCatchUp::Rows(reached),
        CatchUp::Removals(_) | CatchUp::ReadingAfter(_) | CatchUp::ReadingAll(_) => {
            KeysCatchUp::Empty(stored)
        }
    }
}

/// Whether a key that was read at a change may enter the cache. What the cache already reflects is
/// not read again, so an older row would stay.
pub fn may_enter_cache(read: ChangeNumber, cached: ChangeNumber) -> bool {
    !cached.has_more_than(read)
}

/// The last changes, and how old that news may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolledChanges<T> {
    /// The last changes.
    pub last_changes: LastChanges,
    /// Every change that was acknowledged before this is in them.
    pub as_of: T,
}

impl<T: Time> PolledChanges<T> {
    /// Of a store that was asked then, or confirmed its last commit before.
    pub fn new(last_changes: LastChanges, as_of: T) -> PolledChanges<T> {
        PolledChanges { last_changes, as_of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(generation: u64, number: i64) -> ChangeNumber {
        ChangeNumber { generation, number }
    }

    #[test]
    fn cached_keys_follow_by_the_rows_that_came_or_are_dropped() {
        let catch_up = |stored, after| keys_catch_up(at(1, 5), stored, after);
        assert_eq!(catch_up(at(1, 5), None), KeysCatchUp::Current);
        assert_eq!(catch_up(at(1, 7), Some(at(1, 5))), KeysCatchUp::Rows(at(1, 7)));
        assert_eq!(catch_up(at(1, 7), None), KeysCatchUp::Empty(at(1, 7)), "they are many");
        assert_eq!(catch_up(at(1, 7), Some(at(1, 6))), KeysCatchUp::Empty(at(1, 7)));
        assert_eq!(catch_up(at(2, 3), Some(at(2, 1))), KeysCatchUp::Empty(at(2, 3)));
    }

    #[test]
    fn a_key_enters_the_cache_unless_it_is_older_or_of_another_generation() {
        let enters = |read| may_enter_cache(read, at(1, 5));
        assert_eq!([at(1, 4), at(1, 5), at(1, 6)].map(enters), [false, true, true]);
        assert_eq!([at(0, 9), at(2, 9)].map(enters), [false; 2]);
    }

    #[test]
    fn keys_are_current_for_a_second() {
        let at = Duration::from_millis;
        assert!(keys_are_current(at(500), at(1_500)) && !keys_are_current(at(500), at(1_501)));
    }
}
