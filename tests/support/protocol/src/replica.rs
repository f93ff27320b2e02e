//! Models the memory of a replica and its reaction to each answer. The server's own code makes the
//! decisions.

use crate::agreement::journal::{Answer, AnswerRejected, Seen};
use crate::agreement::key_cache::{
    ChangesAsOf, KeysCatchUp, keys_catch_up, keys_valid_until, may_enter_cache,
};
use crate::agreement::lease::{Lease, OldLeaseWait};
use crate::agreement::list::{CatchUp, ListState};
use crate::agreement::position::{LastChanges, Position};
use crate::agreement::reading::{OrdersRead, ReadScope};
use crate::agreement::shared_queries::SharedQueries;
use crate::hosts::{ChangeScope, Journal, Server, Set};
use crate::time::{EXPIRED, LONG_AGO, NOW, Tick};

const MAX_QUERIES: usize = 2;

/// The changes whose rows are on the first page. A read of all rows takes two pages.
const FIRST_PAGE: Set = 0b0101_0101;

/// A replica that only cancels. The model leaves out this replica's list and keys.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Canceller {
    /// The session's host, and the wait before the session may execute cancellations.
    pub session: Option<(usize, OldLeaseWait<Tick>)>,
    before: Option<(Server, OldLeaseWait<Tick>)>,
}

impl Canceller {
    pub fn tick(&mut self) {
        self.session.iter_mut().for_each(|(_, wait)| age(wait));
        self.before.iter_mut().for_each(|(_, wait)| age(wait));
    }

    /// Opens a session to `host`, which must be the leader. A new session needs a confirmed commit,
    /// and no other host can confirm commits.
    pub fn open(&mut self, host: usize, server: Server) {
        let wait = new_wait(server, &self.before);
        (self.session, self.before) = (Some((host, wait)), Some((server, wait)));
    }
}

fn new_wait(server: Server, before: &Option<(Server, OldLeaseWait<Tick>)>) -> OldLeaseWait<Tick> {
    OldLeaseWait::for_session(NOW, &server, before.as_ref().map(|(server, wait)| (server, *wait)))
}

/// Brings the end of the wait one tick closer. A finished wait stays finished.
fn age(wait: &mut OldLeaseWait<Tick>) {
    wait.until = wait.until.older().max(NOW);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session {
    pub host: usize,
    pub history: u64,
    pub wait: OldLeaseWait<Tick>,
    pub lease: Lease<Tick>,
    /// True if rows were restored while this session was open. The second promise in `lib.rs` does
    /// not cover such a session.
    pub is_restored: bool,
    queries: SharedQueries<NextQuery>,
    under_way: [Option<Query>; MAX_QUERIES],
}

impl Session {
    pub fn under_way(&self) -> usize {
        self.under_way.iter().flatten().count()
    }
}

/// The next query, which all waiting list requests share.
///
/// The lists of these requests must reflect the changes in `must_reflect`. `list` is the position
/// of the replica's list when the last of these requests arrived.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct NextQuery {
    must_reflect: Set,
    list: Position,
}

/// A query and its answer, computed when the query is sent. `rows` is `None` if there are too many
/// rows for one answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Query {
    must_reflect: Set,
    answer: Answer<u8>,
    rows: Option<(Position, Set)>,
}

/// The progress of the list requests that share a freshness query, after the query is answered.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum List {
    #[default]
    None,
    /// The query has been answered. The replica has not compared its list with the answer yet.
    Answered(Answered),
    /// The replica reads rows, because the rows in the answer do not bring its list up to date.
    Reading(Reading, Answered),
    Ready {
        snapshot: Set,
        removed: Set,
        reached: Position,
        answered: Answered,
    },
    /// The list is sent to the client. The state lasts for one step.
    Sent {
        must_reflect: Set,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answered {
    must_reflect: Set,
    stored: Position,
    rows: Option<(Position, Set)>,
}

/// A read of rows that has begun, and the snapshot to which its rows are applied.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reading {
    snapshot: Set,
    /// The pending removals. When the read ends, the replica applies them to the snapshot. Empty in
    /// a read of all rows.
    removed: Set,
    after: Position,
    /// The position of the last change of orders on the session's host. The replica reads this
    /// position before the rows of each query.
    before: Option<Position>,
    /// The number of pages that the current query has read.
    pages: u8,
    /// The highest change number on the pages that the current query has read. Always `None` in a
    /// read of all rows.
    highest: Option<i64>,
}

/// The cache's position when the poll was sent, and the key's later changes. `None` if these
/// changes are too many for the answer, or if the session and the cache have different histories.
type ChangedKeys = Option<(Position, Set)>;

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum KeyPoll {
    #[default]
    None,
    Asked(Tick, Answer<u8>, ChangedKeys),
    Accepted(ChangesAsOf<Tick>, ChangedKeys),
}

/// A lookup of the key. The `Set` has the changes that the looked-up row reflects.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum KeyLookUp {
    #[default]
    None,
    Asked(Tick, Answer<u8>, Set),
    /// A request is authorized with the row that the lookup returned. The state lasts for one step
    /// of the model.
    Authorises(Set),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    pub session: Option<Session>,
    before: Option<(Server, OldLeaseWait<Tick>)>,
    pub seen: Seen<u8>,
    pub orders: ListState<Set, Set>,
    pub list: List,
    /// A cancellation that was executed but not yet applied in memory. The inner pair contains the
    /// store's positions before and after the cancellation. The `Set` contains the cancellation.
    pub unapplied: Option<((Position, Position), Set)>,
    /// The last change of keys that the cache of this replica reflects.
    pub reflected: Position,
    /// The changes that the cached row of the key contains. `None` if the key is not cached.
    pub cached: Option<Set>,
    refreshed: Tick,
    key_poll: KeyPoll,
    pub look_up: KeyLookUp,
}

impl Replica {
    /// Creates a replica whose list is at the beginning of `history`. In a session with another
    /// history, the replica must read the whole list.
    pub fn new(history: u64) -> Replica {
        let orders = ListState::new(0, Position::beginning(history));
        Replica { refreshed: LONG_AGO, orders, ..Replica::default() }
    }

    /// Advances the clock. If the search checks only orders, an expired lease does not age further,
    /// so that the search has fewer states.
    pub fn tick(&mut self, concerns_orders: bool) {
        self.before.iter_mut().for_each(|(_, wait)| age(wait));
        if let Some(session) = &mut self.session {
            age(&mut session.wait);
            let oldest = if concerns_orders { EXPIRED } else { LONG_AGO };
            let age_sent = |sent: Tick| sent.older().max(oldest);
            session.lease.renewed = session.lease.renewed.map(age_sent);
        }
        self.refreshed = self.refreshed.older();
        match &mut self.key_poll {
            KeyPoll::None => {}
            KeyPoll::Asked(asked, ..) => *asked = asked.older(),
            KeyPoll::Accepted(polled, _) => polled.as_of = polled.as_of.older(),
        }
        match &mut self.look_up {
            KeyLookUp::None | KeyLookUp::Authorises(_) => {}
            KeyLookUp::Asked(asked, ..) => *asked = asked.older(),
        }
    }

    /// Ends the session. Requests that wait for an answer in this session fail.
    pub fn end_session(&mut self) {
        self.session = None;
        if let KeyPoll::Asked(..) = self.key_poll {
            self.key_poll = KeyPoll::None;
        }
        if let KeyLookUp::Asked(..) = self.look_up {
            self.look_up = KeyLookUp::None;
        }
        if let List::Reading(..) = self.list {
            self.list = List::None;
        }
    }

    /// Opens a session to `host`, which must be the leader. Other hosts cannot confirm the commit
    /// that a new session needs.
    pub fn open(&mut self, host: usize, server: Server, journal: &Journal) {
        self.end_session();
        let opening = journal.answer(&self.seen).opening(&self.seen);
        let (history, wait) = (opening.history, new_wait(server, &self.before));
        let mut lease = Lease::default();
        opening.record(lease.renew(NOW), &mut self.seen);
        let (queries, under_way) = (SharedQueries::new(NextQuery::default()), Default::default());
        let is_restored = false;
        let session = Session { host, history, wait, lease, is_restored, queries, under_way };
        (self.session, self.before) = (Some(session), Some((server, wait)));
    }

    pub fn accept_cancellation(
        &mut self,
        change: Set,
        before: i64,
        is_known: bool,
        journal: &Journal,
    ) {
        let Some(session) = &self.session else { return };
        let history = session.history;
        match self.seen.accept(history, journal.last(), is_known) {
            Ok(()) => {
                let position = |number| Position { history, number };
                let positions = (position(before), position(journal.last().number));
                self.unapplied = Some((positions, change));
            }
            Err(_) => self.end_session(),
        }
    }

    /// Applies the replica's own cancellation in memory. This must happen before the replica sends
    /// the 204 for the cancellation.
    pub fn apply_own_cancellation(&mut self) -> Option<Set> {
        let (positions, change) = self.unapplied.take()?;
        self.orders.add_removals(Some(positions), |removals| *removals |= change);
        Some(change)
    }

    /// Adds a list request to the next query, whose answer must then reflect `must_reflect`. The
    /// set `must_reflect` replaces the query's earlier set. So the caller must include the earlier
    /// set, except changes that the store has lost.
    pub fn request_list(&mut self, must_reflect: Set) -> Option<()> {
        let list = self.orders.position();
        *self.session.as_mut()?.queries.join() = NextQuery { must_reflect, list };
        Some(())
    }

    /// Sends the next query, which the primary answers immediately. `with_rows` is false if too
    /// many rows have changed for the answer to include them.
    pub fn send_query(
        &mut self,
        with_rows: bool,
        max_queries: usize,
        journal: &Journal,
    ) -> Option<()> {
        let session = self.session.as_mut()?;
        session.wait.over(NOW).ok()?;
        session.queries.due(max_queries)?;
        let NextQuery { must_reflect, list } = session.queries.send(NextQuery::default());
        let rows = with_rows.then(|| (list, journal.set(ChangeScope::Orders, list.number)));
        let query = Query { must_reflect, answer: journal.answer(&self.seen), rows };
        *session.under_way.iter_mut().find(|slot| slot.is_none())? = Some(query);
        Some(())
    }

    pub fn accept_answer(&mut self) -> Option<()> {
        let session = self.session.as_mut()?;
        if self.list != List::None {
            return None;
        }
        let Query { must_reflect, answer, rows } = session.under_way[0].take()?;
        session.under_way.rotate_left(1);
        session.queries.record_answer();
        let (history, lease) = (session.history, session.lease);
        match answer.accept_under_lease(history, &lease, NOW, &mut self.seen) {
            Ok(last_changes) => {
                let stored = last_changes.orders;
                let rows = rows.filter(|(after, _)| stored.has_more_than(*after));
                self.list = List::Answered(Answered { must_reflect, stored, rows });
            }
            Err(AnswerRejected::OtherHistory) => self.end_session(),
            Err(AnswerRejected::LeaseExpired) => {}
        }
        Some(())
    }

    /// Brings the list up to date as `ListState::plan` decides. With `in_pages`, later calls of
    /// `read` read the rows. Otherwise this call reads them.
    pub fn refresh(&mut self, journal: Option<&Journal>, in_pages: bool) -> Option<()> {
        let List::Answered(answered) = self.list else { return None };
        let rows_after = answered.rows.map(|(after, _)| after);
        let (removed, snapshot) = (self.orders.pending_removals, self.orders.snapshot);
        let ready = |snapshot, reached| List::Ready { snapshot, removed, reached, answered };
        let reading = |removed, after| {
            let (before, pages, highest) = Default::default();
            List::Reading(Reading { snapshot, removed, after, before, pages, highest }, answered)
        };
        self.list = match self.orders.plan(answered.stored, rows_after) {
            CatchUp::Nothing => List::Sent { must_reflect: answered.must_reflect },
            CatchUp::Removals(reached) => ready(snapshot | removed, reached),
            CatchUp::Rows(reached) => {
                let rows = answered.rows.map_or(0, |(_, rows)| rows);
                ready(snapshot | rows | removed, reached)
            }
            CatchUp::ReadingAfter(after) => reading(removed, after),
            CatchUp::ReadingAll(after) => reading(0, after),
        };
        while !in_pages && matches!(self.list, List::Reading(..)) {
            self.read(journal, false);
        }
        Some(())
    }

    /// Takes the next step of a read. Before the first page of a query, and after its last page, a
    /// step asks PostgreSQL for the last changes. Each other step reads one page.
    pub fn read(&mut self, journal: Option<&Journal>, in_pages: bool) -> Option<()> {
        let List::Reading(mut reading, answered) = std::mem::take(&mut self.list) else {
            return None;
        };
        let (Some(session), Some(journal)) = (self.session, journal) else { return Some(()) };
        let Some(rows) = ReadScope::rows_after(reading.after, session.history) else {
            return Some(());
        };
        let Some(before) = reading.before else {
            if reading.after.is_beginning() {
                reading.snapshot = 0;
            }
            if let Some(before) = self.accept_last_changes(&session, journal) {
                reading.before = Some(before.orders);
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
                    let max_rows = if in_pages { 1 } else { usize::MAX };
                    let changed = journal.changes_after(ChangeScope::Orders, number).take(max_rows);
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
        let Some(last) = self.accept_last_changes(&session, journal) else { return Some(()) };
        let (after, highest) = (reading.after, reading.highest);
        let read = match rows {
            ReadScope::All => OrdersRead::whole(before, last.orders),
            ReadScope::After(_) => {
                OrdersRead::page(after, before, highest, in_pages && highest.is_some())
            }
        };
        let (removed, reached) = (reading.removed, read.reached);
        self.list = if read.is_all {
            List::Ready { snapshot: reading.snapshot | removed, removed, reached, answered }
        } else {
            let (after, before, pages, highest) = (reached, None, 0, None);
            List::Reading(Reading { after, before, pages, highest, ..reading }, answered)
        };
        Some(())
    }

    /// Returns the last changes in the journal of the session's database server. If the journal
    /// lacks the last change that the replica has seen, ends the session and returns `None`.
    fn accept_last_changes(&mut self, session: &Session, journal: &Journal) -> Option<LastChanges> {
        let last_changes = journal.answer(&self.seen).accept(session.history, &mut self.seen);
        if last_changes.is_err() {
            self.end_session();
        }
        last_changes.ok()
    }

    pub fn publish(&mut self) -> Option<()> {
        let List::Ready { snapshot, removed, reached, answered } = self.list else { return None };
        self.orders.publish(snapshot, reached, |pending| *pending &= !removed);
        self.list = List::Sent { must_reflect: answered.must_reflect };
        Some(())
    }

    /// Polls PostgreSQL for changes of the keys. `with_rows` is false if the answer cannot contain
    /// all changed rows.
    pub fn poll_keys(&mut self, with_rows: bool, journal: &Journal) -> Option<()> {
        if self.key_poll != KeyPoll::None {
            return None;
        }
        let after = self.reflected;
        let comes = with_rows && after.history == self.session?.history;
        let rows = comes.then(|| (after, journal.set(ChangeScope::Keys, after.number)));
        self.key_poll = KeyPoll::Asked(NOW, journal.answer(&self.seen), rows);
        Some(())
    }

    pub fn accept_poll(&mut self) -> Option<()> {
        let KeyPoll::Asked(asked, answer, rows) = std::mem::take(&mut self.key_poll) else {
            return None;
        };
        self.key_poll = self
            .polled(asked, answer)
            .map_or(KeyPoll::None, |polled| KeyPoll::Accepted(polled, rows));
        Some(())
    }

    /// Applies the accepted answer to the cache. If rows are missing or the history is new, removes
    /// the key from the cache.
    pub fn apply_poll(&mut self) -> Option<()> {
        let KeyPoll::Accepted(polled, rows) = std::mem::take(&mut self.key_poll) else {
            return None;
        };
        let (rows_after, rows) = rows.unzip();
        let stored = polled.last_changes.keys;
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

    /// Looks up the key for a request. PostgreSQL answers immediately. In a later step,
    /// [`Replica::enter_key`] reads the answer and may cache the key.
    pub fn look_up(&mut self, journal: &Journal) -> Option<()> {
        if self.look_up != KeyLookUp::None {
            return None;
        }
        let key = journal.set(ChangeScope::Keys, 0);
        self.look_up = KeyLookUp::Asked(NOW, journal.answer(&self.seen), key);
        Some(())
    }

    /// Reads the answer to the key lookup. A recent answer authorizes the request even if the key
    /// does not enter the cache.
    pub fn enter_key(&mut self) -> Option<()> {
        let KeyLookUp::Asked(asked, answer, key) = std::mem::take(&mut self.look_up) else {
            return None;
        };
        if let Some(polled) = self.polled(asked, answer) {
            if may_enter_cache(polled.last_changes.keys, self.reflected) {
                self.cached = Some(key);
            }
            if NOW <= keys_valid_until(polled.as_of) {
                self.look_up = KeyLookUp::Authorises(key);
            }
        }
        Some(())
    }

    pub fn queries_keys(&self) -> bool {
        matches!(self.key_poll, KeyPoll::Asked(..)) || matches!(self.look_up, KeyLookUp::Asked(..))
    }

    /// Returns the last changes that an answer about keys reports, or `None` if the answer is
    /// rejected. An answer of another history also ends the session.
    fn polled(&mut self, asked: Tick, answer: Answer<u8>) -> Option<ChangesAsOf<Tick>> {
        let session = self.session?;
        let polled = answer.with_as_of(session.history, &session.lease, asked, &mut self.seen);
        if polled == Err(AnswerRejected::OtherHistory) {
            self.end_session();
        }
        polled.ok()
    }

    /// Returns true if this replica still accepts the key. It does so if the cached or looked-up
    /// row reflects none of the changes in `end`, which revoke the key.
    pub fn accepts_key_without(&self, end: Set) -> bool {
        let cached = self.cached.filter(|_| NOW <= keys_valid_until(self.refreshed));
        let looked_up = match self.look_up {
            KeyLookUp::Authorises(key) => Some(key),
            _ => None,
        };
        cached.into_iter().chain(looked_up).any(|key| key & end == 0)
    }
}
