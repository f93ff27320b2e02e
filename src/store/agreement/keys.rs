//! What the known keys lack, and as of when they are known.

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

/// What keys that reflect a change lack of the store at another one.
pub fn keys_lack(known: ChangeNumber, stored: ChangeNumber) -> CatchUp {
    ListState::<(), ()>::new((), known).plan(stored, None)
}

/// The last changes, and how old that news may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolledChanges<T> {
    /// The last changes.
    pub last_changes: LastChanges,
    /// Every change that was acknowledged before this is in them.
    pub(crate) as_of: T,
}

impl<T: Time> PolledChanges<T> {
    /// Of a store that was asked then, or confirmed its last commit before.
    pub fn new(last_changes: LastChanges, as_of: T) -> PolledChanges<T> {
        PolledChanges { last_changes, as_of }
    }

    /// As of when keys are known that reflect this change; none if they lack something.
    pub fn known_as_of(&self, known: ChangeNumber) -> Option<T> {
        (keys_lack(known, self.last_changes.of_keys()) == CatchUp::Nothing).then_some(self.as_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_as_of_an_answer_of_which_they_lack_nothing() {
        let last_changes = LastChanges { generation: 1, orders: 9, keys: 5 };
        let polled = PolledChanges::new(last_changes, Duration::from_secs(7));
        let known = |generation, number| polled.known_as_of(ChangeNumber { generation, number });
        assert_eq!(known(1, 5), Some(Duration::from_secs(7)));
        assert_eq!([known(1, 4), known(0, 5), known(2, 6)], [None; 3]);
        let at = Duration::from_millis;
        assert!(keys_are_current(at(500), at(1_500)) && !keys_are_current(at(500), at(1_501)));
    }
}
