//! A replica as a driver of the server's decisions: what it holds in memory, and what it does with
//! each answer. Every decision is the server's own.

use crate::agreement::change_numbers::{ChangeNumber, LastChanges};
use crate::agreement::journal::{Answer, Doubt, Seen};
use crate::agreement::lease::{Lease, Wait, keys_are_current};
use crate::agreement::list::{Lacks, ListFreshness};
use crate::agreement::questions::Questions;
use crate::hosts::{Half, Journal, Server, Set};
use crate::time::{EXPIRED, LONG_AGO, NOW, Tick};

/// How many questions are under way at once, at most.
const UNDER_WAY: usize = 2;

/// A replica that only cancels: what it holds in memory concerns nobody.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Canceller {
    /// The host of its session, and from when it may acknowledge.
    pub session: Option<(usize, Wait<Tick>)>,
    before: Option<(Server, Wait<Tick>)>,
}

impl Canceller {
    pub fn tick(&mut self) {
        self.session.iter_mut().for_each(|(_, wait)| age(wait));
        self.before.iter_mut().for_each(|(_, wait)| age(wait));
    }

    /// A session to the leader, which confirms a commit.
    pub fn open(&mut self, host: usize, server: Server) {
        let wait = wait_of(server, &self.before);
        (self.session, self.before) = (Some((host, wait)), Some((server, wait)));
    }
}

fn wait_of(server: Server, before: &Option<(Server, Wait<Tick>)>) -> Wait<Tick> {
    Wait::of_session(NOW, &server, before.as_ref().map(|(server, wait)| (server, *wait)))
}

/// A wait that is over stays so.
fn age(wait: &mut Wait<Tick>) {
    wait.until = wait.until.aged().max(NOW);
}

/// A session of the replica that does everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session {
    pub host: usize,
    pub generation: u64,
    pub wait: Wait<Tick>,
    pub lease: Lease<Tick>,
    questions: Questions<Next>,
    under_way: [Option<Question>; UNDER_WAY],
}

/// Lists that wait for a question: what all of them must reflect, and what the last one knows.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Next {
    must: Set,
    list: ChangeNumber,
}

/// A question that was sent, and what the server answers: rows came with it, if they are few.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    must: Set,
    answer: Answer<u8>,
    rows: Option<(ChangeNumber, Set)>,
}

/// A list on its way from the question to the client.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum List {
    #[default]
    None,
    /// Its question was answered.
    Answered(Answered),
    /// A snapshot was made that is to replace the present one.
    Made { snapshot: Set, removed: Set, reached: ChangeNumber, answered: Answered },
    /// It is sent. Over after the step that led to it.
    Sent { must: Set },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answered {
    must: Set,
    stored: ChangeNumber,
    rows: Option<(ChangeNumber, Set)>,
}

/// A look at the keys.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Look {
    #[default]
    None,
    Asked {
        asked: Tick,
        answer: Answer<u8>,
    },
    Behind {
        stored: LastChanges,
        as_of: Tick,
    },
    Read {
        keys: Set,
        reached: ChangeNumber,
        as_of: Tick,
    },
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    pub session: Option<Session>,
    before: Option<(Server, Wait<Tick>)>,
    pub seen: Seen<u8>,
    pub freshness: ListFreshness,
    pub snapshot: Set,
    pub removed: Set,
    pub list: List,
    /// A cancellation of its own that is not applied yet.
    pub done: Option<(u64, (i64, i64), Set)>,
    pub known_keys: ChangeNumber,
    pub keys: Set,
    refreshed: Tick,
    look: Look,
}

impl Replica {
    pub fn new(journal: &Journal) -> Replica {
        let mut replica = Replica { refreshed: LONG_AGO, ..Replica::default() };
        replica.seen.saw(0, journal.last());
        replica
    }

    /// Lists judge a lease, and keys its age.
    pub fn tick(&mut self, of_orders: bool) {
        self.before.iter_mut().for_each(|(_, wait)| age(wait));
        if let Some(session) = &mut self.session {
            age(&mut session.wait);
            let oldest = if of_orders { EXPIRED } else { LONG_AGO };
            let aged = |sent: Tick| sent.aged().max(oldest);
            session.lease.renewed = session.lease.renewed.map(aged);
        }
        self.refreshed = self.refreshed.aged();
        match &mut self.look {
            Look::None => {}
            Look::Asked { asked: at, .. }
            | Look::Behind { as_of: at, .. }
            | Look::Read { as_of: at, .. } => *at = at.aged(),
        }
    }

    /// The session ends, and what waits for its answers has an error.
    pub fn end_session(&mut self) {
        self.session = None;
        if let Look::Asked { .. } = self.look {
            self.look = Look::None;
        }
    }

    /// A session to the leader, which confirms a commit.
    pub fn open(&mut self, host: usize, server: Server, journal: &Journal) {
        self.end_session();
        let (last, is_known) = journal.answer(&self.seen).into_last();
        let generation = self.seen.next_generation(is_known);
        let wait = wait_of(server, &self.before);
        let mut lease = Lease::default();
        lease.renew(NOW);
        self.seen.saw(generation, last);
        let (questions, under_way) = (Questions::new(Next::default()), Default::default());
        self.session = Some(Session { host, generation, wait, lease, questions, under_way });
        self.before = Some((server, wait));
    }

    /// A batch with the cancellation was answered.
    pub fn carried_out(&mut self, change: Set, before: i64, is_known: bool, journal: &Journal) {
        let Some(session) = &self.session else { return };
        let generation = session.generation;
        match self.seen.follow(generation, journal.last(), is_known) {
            Ok(()) => {
                self.done = Some((generation, (before, journal.last().number), change));
            }
            Err(_) => self.end_session(),
        }
    }

    /// It is applied in memory before the 204.
    pub fn apply_own(&mut self) -> Option<Set> {
        let (generation, numbers, change) = self.done.take()?;
        if self.freshness.cancelled(generation, Some(numbers)) {
            self.removed |= change;
        }
        Some(change)
    }

    /// A list arrives, which must reflect these; its question is sent, and read by this server. One
    /// that arrived before has to reflect less. Rows that are many are left out.
    pub fn send(
        &mut self,
        must: Set,
        with_rows: bool,
        most: usize,
        journal: &Journal,
    ) -> Option<()> {
        let list = self.freshness.known();
        let session = self.session.as_mut()?;
        *session.questions.join() = Next { must, list };
        session.wait.over(NOW).ok()?;
        session.questions.due(most)?;
        let Next { must, list } = session.questions.send(Next::default());
        let is_same = with_rows && list.generation == session.generation;
        let rows = is_same.then(|| (list, journal.set(Half::Orders, list.number)));
        let question = Question { must, answer: journal.answer(&self.seen), rows };
        *session.under_way.iter_mut().find(|slot| slot.is_none())? = Some(question);
        Some(())
    }

    /// The answer to the first question under way is there.
    pub fn judge(&mut self) -> Option<()> {
        let session = self.session.as_mut()?;
        if self.list != List::None {
            return None;
        }
        let Question { must, answer, rows } = session.under_way[0].take()?;
        session.under_way.rotate_left(1);
        session.questions.answered();
        let (generation, lease) = (session.generation, session.lease);
        match answer.judge(generation, &lease, NOW, &mut self.seen) {
            Ok(last_changes) => {
                self.list =
                    List::Answered(Answered { must, stored: last_changes.of_orders(), rows });
            }
            Err(Doubt::OtherHistory) => self.end_session(),
            Err(Doubt::LeaseExpired) => {}
        }
        Some(())
    }

    /// The list takes the snapshot, or a new one is made.
    pub fn refresh(&mut self, journal: Option<&Journal>) -> Option<()> {
        let List::Answered(answered) = self.list else { return None };
        let rows_after = answered.rows.map(|(after, _)| after);
        let removed = self.removed;
        let (snapshot, reached) = match self.freshness.lacks(answered.stored, rows_after) {
            Lacks::Nothing => {
                self.list = List::Sent { must: answered.must };
                return Some(());
            }
            Lacks::Removals => (self.snapshot | removed, self.freshness.known()),
            Lacks::Rows => {
                let rows = answered.rows.map_or(0, |(_, rows)| rows);
                (self.snapshot | rows | removed, answered.stored)
            }
            Lacks::ReadingAfter(after) => {
                let Some((rows, reached)) = self.read(after, journal) else {
                    self.list = List::None;
                    return Some(());
                };
                let base = if after.number == 0 { 0 } else { self.snapshot | removed };
                (base | rows, reached)
            }
        };
        self.list = List::Made { snapshot, removed, reached, answered };
        Some(())
    }

    /// The orders that changed after this change, of the session's server.
    fn read(
        &mut self,
        after: ChangeNumber,
        journal: Option<&Journal>,
    ) -> Option<(Set, ChangeNumber)> {
        let journal = journal?;
        let session = self.session.filter(|session| session.generation == after.generation)?;
        let told = journal.answer(&self.seen).follow(session.generation, &mut self.seen);
        let Ok(last_changes) = told else {
            self.end_session();
            return None;
        };
        Some((journal.set(Half::Orders, after.number), last_changes.of_orders()))
    }

    /// The new snapshot replaces the present one.
    pub fn publish(&mut self) -> Option<()> {
        let List::Made { snapshot, removed, reached, answered } = self.list else { return None };
        self.snapshot = snapshot;
        if self.freshness.replaced(reached) {
            self.removed &= !removed;
        } else {
            self.removed = 0;
        }
        self.list = List::Answered(answered);
        Some(())
    }

    /// The journal's last change is read for the keys.
    pub fn look(&mut self, journal: &Journal) -> Option<()> {
        if self.look != Look::None {
            return None;
        }
        self.look = Look::Asked { asked: NOW, answer: journal.answer(&self.seen) };
        Some(())
    }

    /// That answer is there.
    pub fn date(&mut self) -> Option<()> {
        let Look::Asked { asked, answer } = std::mem::take(&mut self.look) else { return None };
        let session = self.session?;
        match answer.date(session.generation, &session.lease, asked, &mut self.seen) {
            Ok((stored, as_of)) if stored.of_keys().has_more_than(self.known_keys) => {
                self.look = Look::Behind { stored, as_of };
            }
            Ok((_, as_of)) => self.refreshed = as_of,
            Err(Doubt::OtherHistory) => self.end_session(),
            Err(Doubt::LeaseExpired) => {}
        }
        Some(())
    }

    /// The keys that changed are read.
    pub fn read_keys(&mut self, journal: Option<&Journal>) -> Option<()> {
        let Look::Behind { stored, as_of } = std::mem::take(&mut self.look) else { return None };
        let is_same = stored.generation == self.known_keys.generation;
        let after = if is_same { self.known_keys.number } else { 0 };
        let session = self.session.filter(|session| session.generation == stored.generation);
        let (Some(session), Some(journal)) = (session, journal) else { return Some(()) };
        match journal.answer(&self.seen).follow(session.generation, &mut self.seen) {
            Ok(last_changes) => {
                let base = if is_same { self.keys } else { 0 };
                let keys = base | journal.set(Half::Keys, after);
                self.look = Look::Read { keys, reached: last_changes.of_keys(), as_of };
            }
            Err(_) => self.end_session(),
        }
        Some(())
    }

    /// They are applied, and known as of then.
    pub fn apply_keys(&mut self) -> Option<()> {
        let Look::Read { keys, reached, as_of } = std::mem::take(&mut self.look) else {
            return None;
        };
        (self.keys, self.known_keys, self.refreshed) = (keys, reached, as_of);
        Some(())
    }

    pub fn accepts_keys(&self) -> bool {
        keys_are_current(self.refreshed, NOW)
    }
}
