//! A replica as a driver of the server's decisions: what it holds in memory, and what it does with
//! each answer. Every decision is the server's own.

use crate::agreement::change_numbers::{ChangeNumber, LastChanges};
use crate::agreement::journal::{Answer, AnswerRejected, Seen};
use crate::agreement::keys::{
    KeysCatchUp, PolledChanges, keys_are_current, keys_catch_up, may_enter_cache,
};
use crate::agreement::lease::{Lease, OldLeaseWait};
use crate::agreement::list::{CatchUp, ListState};
use crate::agreement::questions::SharedQueries;
use crate::agreement::reading::{OrdersRead, ReadScope};
use crate::hosts::{ChangeScope, Journal, Server, Set};
use crate::time::{EXPIRED, LONG_AGO, NOW, Tick};

/// How many questions a session has room for.
const UNDER_WAY: usize = 2;

/// The changes whose rows are on the first of two pages.
const FIRST_PAGE: Set = 0b0101_0101;

/// A replica that only cancels: what it holds in memory concerns nobody.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Canceller {
    /// The host of its session, and from when it may acknowledge.
    pub session: Option<(usize, OldLeaseWait<Tick>)>,
    before: Option<(Server, OldLeaseWait<Tick>)>,
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

fn wait_of(server: Server, before: &Option<(Server, OldLeaseWait<Tick>)>) -> OldLeaseWait<Tick> {
    OldLeaseWait::for_session(NOW, &server, before.as_ref().map(|(server, wait)| (server, *wait)))
}

/// A wait that is over stays so.
fn age(wait: &mut OldLeaseWait<Tick>) {
    wait.until = wait.until.aged().max(NOW);
}

/// A session of the replica that does everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session {
    pub host: usize,
    pub generation: u64,
    pub wait: OldLeaseWait<Tick>,
    pub lease: Lease<Tick>,
    /// Rows were restored under it: what it has is not judged before it ends.
    pub is_restored: bool,
    questions: SharedQueries<Next>,
    under_way: [Option<Question>; UNDER_WAY],
}

impl Session {
    pub fn under_way(&self) -> usize {
        self.under_way.iter().flatten().count()
    }
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
    /// Rows are being read.
    Reading(Reading, Answered),
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

/// A read of rows, and what they are applied to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reading {
    snapshot: Set,
    /// What is taken out in the end.
    removed: Set,
    after: ChangeNumber,
    /// The last change before this read of rows, once it is known.
    before: Option<ChangeNumber>,
    /// How many pages were read since, and the last change of the last one.
    pages: u8,
    highest: Option<i64>,
}

/// What changed after a change of the keys.
type ChangedKeys = Option<(ChangeNumber, Set)>;

/// A poll of the keys.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Look {
    #[default]
    None,
    Asked(Tick, Answer<u8>, ChangedKeys),
    Dated(PolledChanges<Tick>, ChangedKeys),
}

/// A look-up of the key: the changes that its row has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LookUp {
    #[default]
    None,
    Asked(Tick, Answer<u8>, Set),
    /// A request is let in. Over after the step that led to it.
    LetsIn(Set),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    pub session: Option<Session>,
    before: Option<(Server, OldLeaseWait<Tick>)>,
    pub seen: Seen<u8>,
    pub orders: ListState<Set, Set>,
    pub list: List,
    /// A cancellation of its own that is not applied yet.
    pub done: Option<(u64, (i64, i64), Set)>,
    /// The change that the cached key reflects.
    pub reflected: ChangeNumber,
    /// The changes that its row has.
    pub cached: Option<Set>,
    refreshed: Tick,
    look: Look,
    pub look_up: LookUp,
}

impl Replica {
    /// A list that was not read yet is as one of another generation.
    pub fn new(generation: u64) -> Replica {
        let orders = ListState::new(0, ChangeNumber::beginning(generation));
        Replica { refreshed: LONG_AGO, orders, ..Replica::default() }
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
            Look::Asked(asked, ..) => *asked = asked.aged(),
            Look::Dated(polled, _) => polled.as_of = polled.as_of.aged(),
        }
        match &mut self.look_up {
            LookUp::None | LookUp::LetsIn(_) => {}
            LookUp::Asked(asked, ..) => *asked = asked.aged(),
        }
    }

    /// The session ends, and what waits for its answers has an error.
    pub fn end_session(&mut self) {
        self.session = None;
        if let Look::Asked(..) = self.look {
            self.look = Look::None;
        }
        if let LookUp::Asked(..) = self.look_up {
            self.look_up = LookUp::None;
        }
        if let List::Reading(..) = self.list {
            self.list = List::None;
        }
    }

    /// A session to the leader, which confirms a commit.
    pub fn open(&mut self, host: usize, server: Server, journal: &Journal) {
        self.end_session();
        let opening = journal.answer(&self.seen).opening(&self.seen);
        let (generation, wait) = (opening.generation, wait_of(server, &self.before));
        let mut lease = Lease::default();
        opening.record(lease.renew(NOW), &mut self.seen);
        let (questions, under_way) = (SharedQueries::new(Next::default()), Default::default());
        let is_restored = false;
        let session = Session { host, generation, wait, lease, is_restored, questions, under_way };
        (self.session, self.before) = (Some(session), Some((server, wait)));
    }

    /// A batch with the cancellation was answered.
    pub fn carried_out(&mut self, change: Set, before: i64, is_known: bool, journal: &Journal) {
        let Some(session) = &self.session else { return };
        let generation = session.generation;
        match self.seen.accept(generation, journal.last(), is_known) {
            Ok(()) => {
                self.done = Some((generation, (before, journal.last().number), change));
            }
            Err(_) => self.end_session(),
        }
    }

    /// It is applied in memory before the 204.
    pub fn apply_own(&mut self) -> Option<Set> {
        let (generation, numbers, change) = self.done.take()?;
        self.orders.cancelled(generation, Some(numbers), |removals| *removals |= change);
        Some(change)
    }

    /// A list arrives, which must reflect these. One that arrived before has to reflect less.
    pub fn join(&mut self, must: Set) -> Option<()> {
        let list = self.orders.reflected_after_removals();
        *self.session.as_mut()?.questions.join() = Next { must, list };
        Some(())
    }

    /// The question is sent, and read by this server. Rows that are many are left out.
    pub fn send(&mut self, with_rows: bool, most: usize, journal: &Journal) -> Option<()> {
        let session = self.session.as_mut()?;
        session.wait.over(NOW).ok()?;
        session.questions.due(most)?;
        let Next { must, list } = session.questions.send(Next::default());
        let rows = with_rows.then(|| (list, journal.set(ChangeScope::Orders, list.number)));
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
        match answer.accept_under_lease(generation, &lease, NOW, &mut self.seen) {
            Ok(last_changes) => {
                let stored = last_changes.of_orders();
                let rows = rows.filter(|(after, _)| stored.has_more_than(*after));
                self.list = List::Answered(Answered { must, stored, rows });
            }
            Err(AnswerRejected::OtherHistory) => self.end_session(),
            Err(AnswerRejected::LeaseExpired) => {}
        }
        Some(())
    }

    /// The list takes the snapshot, or a new one is made. Pages are read one a step, or all at once.
    pub fn refresh(&mut self, journal: Option<&Journal>, in_pages: bool) -> Option<()> {
        let List::Answered(answered) = self.list else { return None };
        let rows_after = answered.rows.map(|(after, _)| after);
        let (removed, snapshot) = (self.orders.pending_removals, self.orders.snapshot);
        let made = |snapshot, reached| List::Made { snapshot, removed, reached, answered };
        let reading = |removed, after| {
            let (before, pages, highest) = Default::default();
            List::Reading(Reading { snapshot, removed, after, before, pages, highest }, answered)
        };
        self.list = match self.orders.plan(answered.stored, rows_after) {
            CatchUp::Nothing => List::Sent { must: answered.must },
            CatchUp::Removals(reached) => made(snapshot | removed, reached),
            CatchUp::Rows(reached) => {
                let rows = answered.rows.map_or(0, |(_, rows)| rows);
                made(snapshot | rows | removed, reached)
            }
            CatchUp::ReadingAfter(after) => reading(removed, after),
            CatchUp::ReadingAll(after) => reading(0, after),
        };
        while !in_pages && matches!(self.list, List::Reading(..)) {
            self.read(journal, false);
        }
        Some(())
    }

    /// The next step of a read of rows, from the session's server.
    pub fn read(&mut self, journal: Option<&Journal>, in_pages: bool) -> Option<()> {
        let List::Reading(mut reading, answered) = std::mem::take(&mut self.list) else {
            return None;
        };
        let (Some(session), Some(journal)) = (self.session, journal) else { return Some(()) };
        let Some(rows) = ReadScope::rows_after(reading.after, session.generation) else {
            return Some(());
        };
        let Some(before) = reading.before else {
            if reading.after.is_beginning() {
                reading.snapshot = 0;
            }
            if let Some(before) = self.follow(&session, journal) {
                reading.before = Some(before.of_orders());
                self.list = List::Reading(reading, answered);
            }
            return Some(());
        };
        let pages = if rows == ReadScope::All { 2 } else { 1 };
        if reading.pages < pages {
            let all = journal.set(ChangeScope::Orders, 0);
            let page = match rows {
                ReadScope::All if reading.pages == 0 => all & FIRST_PAGE,
                ReadScope::All => all & !FIRST_PAGE,
                ReadScope::After(number) => {
                    let most = if in_pages { 1 } else { usize::MAX };
                    let changed = journal.of(ChangeScope::Orders, number).take(most);
                    changed.fold(0, |rows, (number, one)| {
                        reading.highest = Some(number);
                        rows | one
                    })
                }
            };
            reading.snapshot |= page;
            reading.pages += 1;
            self.list = List::Reading(reading, answered);
            return Some(());
        }
        let Some(last) = self.follow(&session, journal) else { return Some(()) };
        let (after, highest) = (reading.after, reading.highest);
        let read = match rows {
            ReadScope::All => OrdersRead::whole(before, last.of_orders()),
            ReadScope::After(_) => {
                OrdersRead::page(after, before, highest, in_pages && highest.is_some())
            }
        };
        let (removed, reached) = (reading.removed, read.reached);
        self.list = if read.is_all {
            List::Made { snapshot: reading.snapshot | removed, removed, reached, answered }
        } else {
            let (after, before, pages, highest) = (reached, None, 0, None);
            List::Reading(Reading { after, before, pages, highest, ..reading }, answered)
        };
        Some(())
    }

    /// The last changes, of the history that was seen.
    fn follow(&mut self, session: &Session, journal: &Journal) -> Option<LastChanges> {
        let told = journal.answer(&self.seen).accept(session.generation, &mut self.seen);
        if told.is_err() {
            self.end_session();
        }
        told.ok()
    }

    /// The new snapshot replaces the present one, and is sent.
    pub fn publish(&mut self) -> Option<()> {
        let List::Made { snapshot, removed, reached, answered } = self.list else { return None };
        self.orders.publish(snapshot, reached, |pending| *pending &= !removed);
        self.list = List::Sent { must: answered.must };
        Some(())
    }

    /// The keys are polled: rows that are many are left out.
    pub fn look(&mut self, with_rows: bool, journal: &Journal) -> Option<()> {
        if self.look != Look::None {
            return None;
        }
        let after = self.reflected;
        let comes = with_rows && after.generation == self.session?.generation;
        let rows = comes.then(|| (after, journal.set(ChangeScope::Keys, after.number)));
        self.look = Look::Asked(NOW, journal.answer(&self.seen), rows);
        Some(())
    }

    /// That answer is there.
    pub fn date(&mut self) -> Option<()> {
        let Look::Asked(asked, answer, rows) = std::mem::take(&mut self.look) else { return None };
        self.look =
            self.polled(asked, answer).map_or(Look::None, |polled| Look::Dated(polled, rows));
        Some(())
    }

    /// The cached key follows it.
    pub fn follow_keys(&mut self) -> Option<()> {
        let Look::Dated(polled, rows) = std::mem::take(&mut self.look) else { return None };
        let (rows_after, rows) = rows.unzip();
        let stored = polled.last_changes.of_keys();
        match keys_catch_up(self.reflected, stored, rows_after) {
            KeysCatchUp::Current => {}
            KeysCatchUp::Rows(reached) => {
                self.cached = self.cached.map(|key| key | rows.unwrap_or_default());
                self.reflected = reached;
            }
            KeysCatchUp::Empty(reached) => (self.cached, self.reflected) = (None, reached),
        }
        self.refreshed = polled.as_of;
        Some(())
    }

    /// The key is looked up for a request.
    pub fn look_up(&mut self, journal: &Journal) -> Option<()> {
        if self.look_up != LookUp::None {
            return None;
        }
        let key = journal.set(ChangeScope::Keys, 0);
        self.look_up = LookUp::Asked(NOW, journal.answer(&self.seen), key);
        Some(())
    }

    /// That answer is there. The key enters the cache, if it may, and lets the request in.
    pub fn enter_key(&mut self) -> Option<()> {
        let LookUp::Asked(asked, answer, key) = std::mem::take(&mut self.look_up) else {
            return None;
        };
        if let Some(polled) = self.polled(asked, answer) {
            if may_enter_cache(polled.last_changes.of_keys(), self.reflected) {
                self.cached = Some(key);
            }
            if keys_are_current(polled.as_of, NOW) {
                self.look_up = LookUp::LetsIn(key);
            }
        }
        Some(())
    }

    /// Whether an answer about keys is under way.
    pub fn asks_for_keys(&self) -> bool {
        matches!(self.look, Look::Asked(..)) || matches!(self.look_up, LookUp::Asked(..))
    }

    /// What an answer about keys is as of, if it counts.
    fn polled(&mut self, asked: Tick, answer: Answer<u8>) -> Option<PolledChanges<Tick>> {
        let session = self.session?;
        let polled = answer.with_as_of(session.generation, &session.lease, asked, &mut self.seen);
        if polled == Err(AnswerRejected::OtherHistory) {
            self.end_session();
        }
        polled.ok()
    }

    /// Whether a request is let in with the key although a row of it would have this change.
    pub fn accepts_key_without(&self, end: Set) -> bool {
        let cached = self.cached.filter(|_| keys_are_current(self.refreshed, NOW));
        let looked_up = match self.look_up {
            LookUp::LetsIn(key) => Some(key),
            _ => None,
        };
        cached.into_iter().chain(looked_up).any(|key| key & end == 0)
    }
}
