//! Plans how cached keys catch up with the store, and limits how long they stay valid while the
//! store does not answer.

use super::lease::Time;
use super::list::{CatchUp, ListState};
use super::position::{LastChanges, Position};
use std::time::Duration;

/// The time for which cached keys stay valid after they were last known to be current. A revocation
/// takes effect within this time. If the store does not answer for longer, no key is accepted until
/// the store answers again.
pub const KEYS_CURRENT_FOR: Duration = Duration::from_secs(1);

pub fn keys_valid_until<T: Time>(as_of: T) -> T {
    as_of + KEYS_CURRENT_FOR
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysCatchUp {
    Current,
    /// Replace cached rows with the rows of the answer. The cache then reflects all changes up to
    /// this position.
    Rows(Position),
    /// Empty the cache, because too much has changed or a new history has begun. The empty cache
    /// then reflects all changes up to this position.
    Empty(Position),
}

/// Decides how the key cache, at the position `cached`, catches up with the store, at the position
/// `stored`. If `rows_after` is set, the store's answer contains all rows that changed after
/// `rows_after`.
pub fn keys_catch_up(
    cached: Position,
    stored: Position,
    rows_after: Option<Position>,
) -> KeysCatchUp {
    match ListState::<(), ()>::new((), cached).plan(stored, rows_after) {
        CatchUp::Nothing => KeysCatchUp::Current,
        CatchUp::Rows(reached) => KeysCatchUp::Rows(reached),
        CatchUp::Removals(_) | CatchUp::ReadingAfter(_) | CatchUp::ReadingAll(_) => {
            KeysCatchUp::Empty(stored)
        }
    }
}

/// True if a key that was read at the position `read` may enter a cache at the position `cached`. A
/// key that was read before `cached` may be outdated. The cache would keep such a key, because the
/// cache reads only changes after `cached`.
pub fn may_enter_cache(read: Position, cached: Position) -> bool {
    !cached.has_more_than(read)
}

/// The answer to a query for the last changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangesAsOf<T> {
    pub last_changes: LastChanges,
    /// The last changes include every change that was acknowledged before this time.
    pub as_of: T,
}

impl<T: Time> ChangesAsOf<T> {
    /// Creates the result of a query for the last changes. With SQLite, `as_of` is the time at
    /// which the query started. With PostgreSQL, `as_of` is at most the send time of the last
    /// confirmed heartbeat, because the primary may have been replaced after that heartbeat.
    pub fn new(last_changes: LastChanges, as_of: T) -> ChangesAsOf<T> {
        ChangesAsOf { last_changes, as_of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(history: u64, number: i64) -> Position {
        Position { history, number }
    }

    #[test]
    fn cached_keys_are_updated_by_the_rows_of_the_answer_or_discarded() {
        let catch_up = |stored, after| keys_catch_up(change(1, 5), stored, after);
        assert_eq!(catch_up(change(1, 5), None), KeysCatchUp::Current);
        assert_eq!(catch_up(change(1, 7), Some(change(1, 5))), KeysCatchUp::Rows(change(1, 7)));
        assert_eq!(catch_up(change(1, 7), None), KeysCatchUp::Empty(change(1, 7)), "too many rows");
        assert_eq!(catch_up(change(1, 7), Some(change(1, 6))), KeysCatchUp::Empty(change(1, 7)));
        assert_eq!(catch_up(change(2, 3), Some(change(2, 1))), KeysCatchUp::Empty(change(2, 3)));
    }

    #[test]
    fn a_key_enters_the_cache_unless_it_is_older_or_of_another_history() {
        let enters = |read| may_enter_cache(read, change(1, 5));
        assert_eq!([change(1, 4), change(1, 5), change(1, 6)].map(enters), [false, true, true]);
        assert_eq!([change(0, 9), change(2, 9)].map(enters), [false; 2]);
    }

    #[test]
    fn keys_are_valid_for_a_second() {
        let ms = Duration::from_millis;
        assert_eq!(keys_valid_until(ms(500)), ms(1_500));
    }
}
