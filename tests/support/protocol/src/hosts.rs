//! What PostgreSQL does: hosts, their journals and their rows.

use crate::agreement::journal::{Answer, Change, Seen};

/// How many changes a journal has room for.
const MOST_CHANGES: u8 = 3;

/// The bit in the id of a change that cancels the order or revokes the key.
const ENDS: u8 = 0x80;

/// The bit in the id of a change of the keys; all others change orders.
const KEYS: u8 = 0x40;

/// The part of the store that a change belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeScope {
    Orders,
    Keys,
}

/// Changes, a bit each.
pub type Set = u8;

/// The ids of the changes of a journal, from number 1 on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Journal {
    ids: [u8; MOST_CHANGES as usize],
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

    pub fn push(&mut self, number: u8, half: ChangeScope, ends: bool) -> Set {
        let id =
            number | if ends { ENDS } else { 0 } | if half == ChangeScope::Keys { KEYS } else { 0 };
        self.ids[usize::from(self.length)] = id;
        self.length += 1;
        set_of(id)
    }

    pub fn up_to(&self, number: u8) -> Journal {
        let mut kept = *self;
        kept.length = number;
        kept.ids[number.into()..].fill(0);
        kept
    }

    /// The last number of this scope; 0 before its first change.
    pub fn last_of(&self, half: ChangeScope) -> i64 {
        self.of(half, 0).map(|(number, _)| number).last().unwrap_or(0)
    }

    /// The numbers and sets of this scope's changes after this number.
    pub fn of(&self, half: ChangeScope, after: i64) -> impl Iterator<Item = (i64, Set)> {
        let numbered = (1..).zip(self.ids());
        let all = numbered.filter(move |(_, id)| (**id & KEYS != 0) == (half == ChangeScope::Keys));
        all.filter(move |(number, _)| *number > after).map(|(number, id)| (number, set_of(*id)))
    }

    /// All of this scope after this number.
    pub fn set(&self, half: ChangeScope, after: i64) -> Set {
        self.of(half, after).fold(0, |all, (_, one)| all | one)
    }

    /// The change that cancels the order or revokes the key.
    pub fn end(&self) -> Set {
        self.ids().iter().filter(|id| **id & ENDS != 0).fold(0, |all, id| all | set_of(*id))
    }

    /// What it tells who has seen this.
    pub fn answer(&self, seen: &Seen<u8>) -> Answer<u8> {
        let is_known = self.is_known(seen);
        let [orders, keys] =
            [ChangeScope::Orders, ChangeScope::Keys].map(|half| self.last_of(half));
        Answer::new(self.last(), orders, keys, is_known)
    }

    pub fn is_known(&self, seen: &Seen<u8>) -> bool {
        seen.last().is_some_and(|seen| self.has(seen))
    }
}

fn set_of(id: u8) -> Set {
    1 << (id & !(ENDS | KEYS))
}

/// The leader, or a primary that was replaced and does not know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primary {
    pub timeline: u8,
    /// The number at which its timeline began.
    pub forked_at: u8,
    /// Restored in place, it is another server.
    pub was_restored: bool,
    pub journal: Journal,
}

/// What tells a server from any other.
pub type Server = (usize, bool);
