//! The model of PostgreSQL: hosts and their journals.

use crate::agreement::journal::{Answer, Change, Seen};

const MAX_CHANGES: u8 = 3;

/// This bit is set in the id of a change that cancels the order or revokes the key.
const ENDS: u8 = 0x80;

/// This bit is set in the ids of changes of keys, not of orders.
const KEYS: u8 = 0x40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeScope {
    Orders,
    Keys,
}

/// A set of changes, one bit each.
pub type Set = u8;

/// A journal: the ids of its changes, sorted by change number. The first change has the number 1.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Journal {
    ids: [u8; MAX_CHANGES as usize],
    pub length: u8,
}

impl Journal {
    pub fn ids(&self) -> &[u8] {
        &self.ids[..self.length.into()]
    }

    pub fn last(&self) -> Change<u8> {
        Change { number: self.length.into(), id: self.ids().last().copied().unwrap_or(0) }
    }

    fn has(&self, change: &Change<u8>) -> bool {
        change.number == 0 || self.ids().get(change.number as usize - 1) == Some(&change.id)
    }

    pub fn push(&mut self, number: u8, scope: ChangeScope, ends: bool) -> Set {
        let id = number
            | if ends { ENDS } else { 0 }
            | if scope == ChangeScope::Keys { KEYS } else { 0 };
        self.ids[usize::from(self.length)] = id;
        self.length += 1;
        set_of(id)
    }

    pub fn up_to(&self, number: u8) -> Journal {
        let mut prefix = *self;
        prefix.length = number;
        prefix.ids[number.into()..].fill(0);
        prefix
    }

    pub fn last_number(&self, scope: ChangeScope) -> i64 {
        self.changes_after(scope, 0).map(|(number, _)| number).last().unwrap_or(0)
    }

    /// Yields each change in `scope` whose number is above `after`, as its number and a set of only
    /// this change.
    pub fn changes_after(
        &self,
        scope: ChangeScope,
        after: i64,
    ) -> impl Iterator<Item = (i64, Set)> {
        let numbered = (1..).zip(self.ids());
        let all =
            numbered.filter(move |(_, id)| (**id & KEYS != 0) == (scope == ChangeScope::Keys));
        all.filter(move |(number, _)| *number > after).map(|(number, id)| (number, set_of(*id)))
    }

    pub fn set(&self, scope: ChangeScope, after: i64) -> Set {
        self.changes_after(scope, after).fold(0, |all, (_, one)| all | one)
    }

    /// Returns the set of changes that cancel the order or revoke the key.
    pub fn end(&self) -> Set {
        self.ids().iter().filter(|id| **id & ENDS != 0).fold(0, |all, id| all | set_of(*id))
    }

    /// Returns what a server with this journal answers to a replica. `seen` contains the last
    /// change that the replica has seen.
    pub fn answer(&self, seen: &Seen<u8>) -> Answer<u8> {
        let is_known = self.is_known(seen);
        let [orders, keys] =
            [ChangeScope::Orders, ChangeScope::Keys].map(|scope| self.last_number(scope));
        Answer::new(self.last(), orders, keys, is_known)
    }

    pub fn is_known(&self, seen: &Seen<u8>) -> bool {
        seen.last().is_some_and(|seen| self.has(seen))
    }
}

fn set_of(id: u8) -> Set {
    1 << (id & !(ENDS | KEYS))
}

/// The current primary, or a replaced primary, which does not know that it was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primary {
    pub timeline: u8,
    /// The number of the last change before this primary's timeline began.
    pub forked_at: u8,
    /// True if the server was stopped and restored from a base backup. A restored server counts as
    /// a different server.
    pub was_restored: bool,
    pub journal: Journal,
}

/// The identity of a server: its host, and whether the server was restored.
pub type Server = (usize, bool);
