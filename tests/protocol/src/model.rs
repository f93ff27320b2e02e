//! Hosts and replicas, the steps that change them, and what must hold after each.

/// How long a lease is (`CONFIRMED_FOR`, `STALE_AFTER`) in ticks: one is half a second.
const LEASE: u8 = 2;

/// How many changes a journal has room for.
const MOST_CHANGES: u8 = 3;

/// The bit in the id of a change that cancels the order or revokes the key.
const ENDS: u8 = 0x80;

/// One replica only cancels, the other one does everything: what a replica has in memory does
/// not concern the other.
const CANCELS: usize = 0;
const LISTS: usize = 1;

/// What the replica keeps in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cached {
    /// The list. Replicas cancel the order.
    Orders,
    /// The keys. A command revokes the key.
    Keys,
}

/// What is searched, and which rules are in force.
#[derive(Clone, Copy)]
pub struct Protocol {
    pub cached: Cached,
    /// How many changes are committed, on all hosts together.
    pub changes: u8,
    /// Whether the leader may be restored in place.
    pub restores: bool,
    pub carries_wait_over: bool,
    pub compares_servers: bool,
    pub journal: bool,
    pub sees_before_applying: bool,
    pub judges_lease: bool,
}

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    ListShowsCancelledOrder,
    KeepsAnotherGeneration,
    AcceptsRevokedKey,
}

/// A row of `changes`: version and id. `(0, 0)` is before the first.
type Change = (u8, u8);

/// The ids of the versions from 1 on: a host's journal, or what a replica has of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Changes {
    ids: [u8; MOST_CHANGES as usize],
    version: u8,
}

impl Changes {
    fn ids(&self) -> &[u8] {
        &self.ids[..self.version.into()]
    }

    fn last(&self) -> Change {
        (self.version, self.ids().last().copied().unwrap_or(0))
    }

    fn has(&self, (version, id): Change) -> bool {
        version == 0 || self.ids().get(usize::from(version) - 1) == Some(&id)
    }

    fn push(&mut self, id: u8) {
        self.ids[usize::from(self.version)] = id;
        self.version += 1;
    }

    fn up_to(&self, version: u8) -> Changes {
        let mut kept = Changes::default();
        self.ids().iter().take(version.into()).for_each(|id| kept.push(*id));
        kept
    }

    /// Whether the order is cancelled, or the key revoked.
    fn ends(&self) -> bool {
        self.ids().iter().any(|id| id & ENDS != 0)
    }
}

/// The leader, or a primary that was replaced and does not know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Primary {
    timeline: u8,
    /// The version at which its timeline began.
    forked_at: u8,
    changes: Changes,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Session {
    host: usize,
    /// How long ago its last confirmed heartbeat was sent.
    confirmed: u8,
}

/// A list, or a look at the keys, that is under way.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
enum Refresh {
    #[default]
    None,
    /// The journal's last change was read.
    Answered(Change),
    /// That is further than what is in memory.
    Behind { is_current: bool },
    /// The rows were read, in a session that was open then.
    CaughtUp { changes: Changes, is_current: bool },
    /// The list is sent, or the keys are refreshed. Over after the step that led to it.
    Done { is_current: bool },
}

/// Of a generation it matters only whether it is the session's: `is_current`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Replica {
    session: Option<Session>,
    /// The host of the last session; none if the server was started again since.
    server: Option<usize>,
    /// How long it is until `acknowledges_from`.
    waits: u8,
    /// The last change that it has seen in this generation.
    seen: Change,
    /// What is in memory; none if that is of another generation.
    cache: Option<Changes>,
    refresh: Refresh,
    /// The list that is under way began after a 204.
    must_hide: bool,
    /// How old that is which the look at the keys will tell.
    as_of: u8,
    /// How long ago the keys were as they are in memory.
    refreshed: u8,
    /// A cancellation that was carried out and not applied yet, and `is_current`.
    done: Option<(Change, bool)>,
}

/// Everything there is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// Those that are or were primary. All others are standbys.
    hosts: [Option<Primary>; 3],
    leader: usize,
    committed: u8,
    was_restored: bool,
    /// How long ago it was acknowledged that the order is cancelled, or the key revoked.
    acknowledged: Option<u8>,
    replicas: [Replica; 2],
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Tick,
    /// A standby that has the journal up to this version becomes the leader. One that never
    /// followed the leader's timeline begins the same one.
    Promote {
        up_to: u8,
        has_followed: bool,
    },
    /// The leader is stopped, and started with a base backup.
    Restore {
        up_to: u8,
    },
    /// A replaced primary shows a commit that no standby has.
    CommitUnconfirmed {
        host: usize,
    },
    /// A command commits, and is told so.
    Command {
        ends: bool,
    },
    /// A replica's session is reset, and one to the leader opened.
    Open(usize),
    /// A heartbeat is sent and confirmed: that it takes time shortens the lease.
    Beat,
    /// A batch with the cancellation commits. If the answer is lost it is carried out again.
    CarryOut {
        replica: usize,
        is_answered: bool,
    },
    /// It is applied in memory, and the 204 sent.
    Acknowledge,
    /// A list, or a look at the keys, begins, and the journal's last change is read for it.
    Check,
    /// That answer is there.
    Judge,
    /// The rows after what is in memory are read.
    CatchUp,
    /// They are applied. The list is sent, or the keys are known as of then.
    Apply,
}

impl Step {
    /// Those that some world allows.
    pub fn all() -> Vec<Step> {
        use Step::{Acknowledge, Apply, Beat, CatchUp, Check, Judge, Tick};
        let mut all = vec![Tick, Beat, Acknowledge, Check, Judge, CatchUp, Apply];
        all.extend([false, true].map(|ends| Step::Command { ends }));
        for replica in [CANCELS, LISTS] {
            all.push(Step::Open(replica));
            all.extend([true, false].map(|is_answered| Step::CarryOut { replica, is_answered }));
        }
        all.extend([0, 1, 2].map(|host| Step::CommitUnconfirmed { host }));
        for up_to in 0..=MOST_CHANGES {
            all.extend([true, false].map(|has_followed| Step::Promote { up_to, has_followed }));
            all.push(Step::Restore { up_to });
        }
        all
    }
}

impl World {
    /// One primary and nothing changed yet. Both replicas have a session.
    pub fn new() -> World {
        let first = Primary { timeline: 1, forked_at: 0, changes: Changes::default() };
        let replica = Replica {
            session: Some(Session { host: 0, confirmed: 0 }),
            server: Some(0),
            cache: Some(Changes::default()),
            ..Replica::default()
        };
        World {
            hosts: [Some(first), None, None],
            leader: 0,
            committed: 0,
            was_restored: false,
            acknowledged: None,
            replicas: [replica; 2],
        }
    }

    /// The world after this step, or the promise that it breaks; none if it cannot be taken.
    pub fn after(mut self, step: Step, protocol: &Protocol) -> Option<Result<World, Broken>> {
        let is_orders = protocol.cached == Cached::Orders;
        match step {
            Step::Tick => self.tick(is_orders),
            Step::Promote { up_to, has_followed } => self.promote(up_to, has_followed),
            Step::Restore { up_to } => self.restore(up_to, protocol),
            Step::CommitUnconfirmed { host } => {
                let is_replaced = host != self.leader;
                is_replaced.then(|| self.commit(host, false, protocol))?.map(drop)
            }
            Step::Command { ends } => self.command(ends, protocol),
            Step::Open(replica) => self.open(replica, protocol),
            Step::Beat => self.beat(),
            Step::CarryOut { replica, is_answered } if is_orders => {
                self.carry_out(replica, is_answered, protocol)
            }
            Step::CarryOut { .. } => None,
            Step::Acknowledge => self.acknowledge(),
            Step::Check => self.check(is_orders),
            Step::Judge => self.judge(protocol),
            Step::CatchUp => self.catch_up(protocol),
            Step::Apply => self.apply(),
        }?;
        let broken = self.broken(is_orders);
        if let Refresh::Done { .. } = self.replicas[LISTS].refresh {
            self.replicas[LISTS].end_refresh();
        }
        Some(broken.map_or(Ok(self), Err))
    }

    fn broken(&self, is_orders: bool) -> Option<Broken> {
        let replica = &self.replicas[LISTS];
        let shows = replica.cache.is_some_and(|cache| !cache.ends());
        if matches!(replica.refresh, Refresh::Done { .. }) && replica.must_hide && shows {
            return Some(Broken::ListShowsCancelledOrder);
        }
        if let (Some(session), Some(cache)) = (replica.session, replica.cache)
            && let Some(primary) = &self.hosts[session.host]
            && replica.refresh != (Refresh::Done { is_current: false })
            && !primary.changes.ids().starts_with(cache.ids())
        {
            return Some(Broken::KeepsAnotherGeneration);
        }
        let is_over = self.acknowledged.is_some_and(|ago| ago > LEASE);
        let is_accepted = shows && replica.refreshed <= LEASE;
        (!is_orders && is_over && is_accepted).then_some(Broken::AcceptsRevokedKey)
    }

    fn leader(&self) -> Option<Primary> {
        self.hosts[self.leader]
    }

    fn tick(&mut self, is_orders: bool) -> Option<()> {
        // Older than that is all the same.
        let age = |ago: &mut u8| *ago = (*ago + 1).min(LEASE + 1);
        for replica in &mut self.replicas {
            replica.waits = replica.waits.saturating_sub(1);
        }
        let replica = &mut self.replicas[LISTS];
        replica.session.iter_mut().for_each(|session| age(&mut session.confirmed));
        if !is_orders {
            age(&mut replica.refreshed);
            if replica.refresh != Refresh::None {
                age(&mut replica.as_of);
            }
            self.acknowledged.iter_mut().for_each(age);
        }
        Some(())
    }

    fn promote(&mut self, up_to: u8, has_followed: bool) -> Option<()> {
        let leader = self.leader()?;
        let most = if has_followed { leader.changes.version } else { leader.forked_at };
        if up_to > most || (!has_followed && leader.timeline == 1) {
            return None;
        }
        // Standbys are alike.
        let host = self.hosts.iter().position(Option::is_none)?;
        let timeline = leader.timeline + u8::from(has_followed);
        let changes = leader.changes.up_to(up_to);
        self.hosts[host] = Some(Primary { timeline, forked_at: up_to, changes });
        self.leader = host;
        self.release();
        Some(())
    }

    fn restore(&mut self, up_to: u8, protocol: &Protocol) -> Option<()> {
        let leader = self.hosts[self.leader].as_mut()?;
        if !protocol.restores || self.was_restored || up_to >= leader.changes.version {
            return None;
        }
        self.was_restored = true;
        leader.changes = leader.changes.up_to(up_to);
        leader.forked_at = leader.forked_at.min(up_to);
        for replica in &mut self.replicas {
            if replica.server == Some(self.leader) {
                replica.reset();
                replica.server = None;
            }
        }
        self.release();
        Some(())
    }

    /// What the operator lost is promised no longer.
    fn release(&mut self) {
        if self.leader().is_some_and(|leader| !leader.changes.ends()) {
            self.acknowledged = None;
            self.replicas[LISTS].must_hide = false;
        }
    }

    fn commit(&mut self, host: usize, ends: bool, protocol: &Protocol) -> Option<Change> {
        let changes = &mut self.hosts[host].as_mut()?.changes;
        if self.committed == protocol.changes || (ends && changes.ends()) {
            return None;
        }
        self.committed += 1;
        changes.push(self.committed | if ends { ENDS } else { 0 });
        Some(changes.last())
    }

    fn command(&mut self, ends: bool, protocol: &Protocol) -> Option<()> {
        if ends && protocol.cached == Cached::Orders {
            return None;
        }
        self.commit(self.leader, ends, protocol)?;
        if ends {
            self.acknowledged = Some(0);
        }
        Some(())
    }

    fn open(&mut self, number: usize, protocol: &Protocol) -> Option<()> {
        let (leader, found) = (self.leader, self.leader()?);
        let replica = &mut self.replicas[number];
        let is_list = protocol.cached == Cached::Orders;
        if number == CANCELS && !is_list {
            return None;
        }
        let last = replica.server.and_then(|host| self.hosts[host]);
        let has_same_timeline = last.is_none_or(|last| last.timeline == found.timeline);
        let is_same_server = match protocol.compares_servers {
            true => replica.server == Some(leader),
            false => has_same_timeline,
        };
        let wait = if is_same_server || !is_list { 0 } else { LEASE };
        replica.waits = if protocol.carries_wait_over { wait.max(replica.waits) } else { wait };
        let continues = match protocol.journal {
            true => found.changes.has(replica.seen),
            false => has_same_timeline && found.changes.version >= replica.seen.0,
        };
        replica.reset();
        if !continues {
            replica.begin_generation();
        }
        replica.session = Some(Session { host: leader, confirmed: 0 });
        replica.server = Some(leader);
        Some(())
    }

    fn beat(&mut self) -> Option<()> {
        let session = self.replicas[LISTS].session.as_mut()?;
        let is_confirmed = session.host == self.leader && session.confirmed > 0;
        is_confirmed.then(|| session.confirmed = 0)
    }

    fn carry_out(&mut self, number: usize, is_answered: bool, protocol: &Protocol) -> Option<()> {
        let replica = &self.replicas[number];
        let host = replica.session?.host;
        let is_confirmed = host == self.leader;
        if replica.waits > 0 || replica.done.is_some() || (is_answered && !is_confirmed) {
            return None;
        }
        if is_answered && self.leader()?.changes.ends() {
            // It finds that the order was cancelled, by itself maybe: 204 or 404.
            return self.acknowledged.is_none().then(|| self.acknowledged = Some(0));
        }
        let change = self.commit(host, true, protocol)?;
        let replica = &mut self.replicas[number];
        if is_answered && number == CANCELS {
            self.acknowledged = Some(0);
        } else if is_answered {
            replica.saw(change);
            replica.done = Some((change, true));
        }
        Some(())
    }

    fn acknowledge(&mut self) -> Option<()> {
        let leader = self.leader()?;
        let replica = &mut self.replicas[LISTS];
        let (change, is_current) = replica.done.take()?;
        if let Some(cache) = &mut replica.cache
            && is_current
            && cache.version + 1 == change.0
        {
            cache.push(change.1);
        }
        if leader.changes.has(change) {
            self.acknowledged = Some(0);
        }
        Some(())
    }

    fn check(&mut self, is_orders: bool) -> Option<()> {
        let replica = &mut self.replicas[LISTS];
        if replica.refresh != Refresh::None || replica.waits > 0 {
            return None;
        }
        let primary = self.hosts[replica.session?.host].as_ref()?;
        replica.refresh = Refresh::Answered(primary.changes.last());
        replica.must_hide = is_orders && self.acknowledged.is_some();
        Some(())
    }

    fn judge(&mut self, protocol: &Protocol) -> Option<()> {
        let replica = &mut self.replicas[LISTS];
        let Refresh::Answered(change) = replica.refresh else { return None };
        let confirmed = replica.session?.confirmed;
        match protocol.cached {
            Cached::Keys if protocol.judges_lease => replica.as_of = replica.as_of.max(confirmed),
            Cached::Orders if confirmed >= LEASE && protocol.judges_lease => {
                replica.end_refresh();
                return Some(());
            }
            Cached::Keys | Cached::Orders => {}
        }
        replica.saw(change);
        let has_it = replica.cache.is_some_and(|cache| cache.version >= change.0);
        if has_it {
            replica.finish(true);
        } else {
            replica.refresh = Refresh::Behind { is_current: true };
        }
        Some(())
    }

    fn catch_up(&mut self, protocol: &Protocol) -> Option<()> {
        let replica = &mut self.replicas[LISTS];
        let Refresh::Behind { is_current } = replica.refresh else { return None };
        let primary = self.hosts[replica.session?.host].as_ref()?;
        if !is_current {
            replica.end_refresh();
            return Some(());
        }
        let mut changes = replica.cache.unwrap_or_default();
        let rows = primary.changes.ids().iter().skip(changes.version.into());
        rows.for_each(|id| changes.push(*id));
        if protocol.sees_before_applying {
            replica.saw(changes.last());
        }
        replica.refresh = Refresh::CaughtUp { changes, is_current };
        Some(())
    }

    fn apply(&mut self) -> Option<()> {
        let replica = &mut self.replicas[LISTS];
        let Refresh::CaughtUp { changes, is_current } = replica.refresh else { return None };
        let further = replica.cache.filter(|cache| is_current && cache.version > changes.version);
        replica.cache = Some(further.unwrap_or(changes));
        replica.finish(is_current);
        Some(())
    }
}

impl Replica {
    fn saw(&mut self, change: Change) {
        self.seen = self.seen.max(change);
    }

    fn reset(&mut self) {
        self.session = None;
        if let Refresh::Answered(_) = self.refresh {
            self.end_refresh();
        }
    }

    fn begin_generation(&mut self) {
        self.seen = Change::default();
        self.cache = None;
        if let Refresh::Behind { is_current } | Refresh::CaughtUp { is_current, .. } =
            &mut self.refresh
        {
            *is_current = false;
        }
        if let Some((_, is_current)) = &mut self.done {
            *is_current = false;
        }
    }

    fn finish(&mut self, is_current: bool) {
        self.refreshed = self.as_of;
        self.refresh = Refresh::Done { is_current };
    }

    fn end_refresh(&mut self) {
        // What was read of another generation is read again.
        if self.refresh == (Refresh::Done { is_current: false }) {
            self.cache = None;
        }
        (self.refresh, self.must_hide, self.as_of) = (Refresh::None, false, 0);
    }
}
