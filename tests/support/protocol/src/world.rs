//! Hosts and replicas, the steps that change them, and what must hold after each.

use crate::agreement::change_numbers::ChangeNumber;
use crate::agreement::list::CatchUp;
use crate::hosts::{ChangeScope, Journal, Primary, Server, Set};
use crate::replica::{self, Canceller, List, Replica};
use crate::time::{NOW, Tick};

/// What is searched.
#[derive(Clone, Copy)]
pub struct Scope {
    /// What the replica keeps in memory. Replicas cancel the order, or a command revokes the key.
    pub half: ChangeScope,
    /// How many changes are committed, on all hosts together.
    pub changes: u8,
    /// How many questions are under way at once: one or two.
    pub questions: usize,
    /// Whether the replica has read nothing yet, and reads in pages.
    pub in_pages: bool,
    /// Whether primaries are replaced, and time passes; if not, questions are sent later than lists
    /// arrive.
    pub has_failovers: bool,
    /// Whether the leader may be restored in place, or rows under a running session.
    pub restores: bool,
    /// Whether the other half changes, too.
    pub others: bool,
    /// Whether other steps come between a look-up of the key and its answer, and between the answer
    /// to a poll and its use.
    pub key_answers_wait: bool,
}

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It began after the 204.
    ListShowsCancelledOrder,
    KeepsAnotherHistory,
    /// A list shows something else than the change says of which it has the tag.
    ListIsNotThatOfItsTag,
    /// Its row lacks a change that the cache reflects.
    CachesOutdatedKey,
    AcceptsRevokedKey,
    SendsTooManyQuestions,
}

/// Everything there is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// Those that are or were primary. All others are standbys.
    hosts: [Option<Primary>; 3],
    leader: usize,
    committed: u8,
    /// The cancellation, once it was acknowledged.
    acknowledged: Set,
    /// It was acknowledged, and the operator did not keep it.
    lost: Set,
    /// When it was acknowledged that the key is revoked.
    revoked: Option<Tick>,
    /// One replica only cancels, the other one does everything: what a replica has in memory does
    /// not concern the other.
    canceller: Canceller,
    replica: Replica,
}

/// Which replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Cancels,
    DoesAll,
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Tick,
    /// A standby that has the journal up to this number becomes the leader. One that never
    /// followed the leader's timeline begins the same one.
    Promote {
        up_to: u8,
        has_followed: bool,
    },
    /// The leader is stopped, and started with a base backup; or its rows are restored while it is
    /// `running`.
    Restore {
        up_to: u8,
        running: bool,
    },
    /// A replaced primary shows a commit that no standby has.
    CommitUnconfirmed {
        host: usize,
        half: ChangeScope,
        ends: bool,
    },
    /// A command commits, and is told so: a step of an import, or a change of a key.
    Command {
        half: ChangeScope,
        ends: bool,
    },
    /// The process of the replica that only cancels is started again.
    Start,
    /// A replica's session is reset, and one to the leader opened.
    Open(Who),
    /// A heartbeat is sent and confirmed: that it takes time shortens the lease.
    Beat,
    /// A batch with the cancellation commits. If the answer is lost it is carried out again.
    CarryOut {
        replica: Who,
        is_answered: bool,
    },
    /// It is applied in memory, and the 204 sent.
    Acknowledge,
    Join,
    Send {
        with_rows: bool,
    },
    Judge,
    Refresh,
    Read,
    Publish,
    /// The keys are polled; rows come with the answer, if they are few.
    Look {
        with_rows: bool,
    },
    Date,
    FollowKeys,
    LookUp,
    EnterKey,
}

impl Step {
    /// Those that are searched.
    pub fn of(scope: &Scope) -> Vec<Step> {
        use Step::{Acknowledge, Date, EnterKey, FollowKeys, Judge, LookUp};
        use Step::{Publish, Refresh, Start};
        let (both, half, changes) = ([true, false], scope.half, scope.changes);
        let mut all = vec![Step::Open(Who::DoesAll)];
        if scope.has_failovers {
            all.extend([Step::Tick, Step::Beat]);
            for up_to in 0..=changes {
                all.extend(both.map(|has_followed| Step::Promote { up_to, has_followed }));
            }
            for host in 0..3 {
                all.extend(both.map(|ends| Step::CommitUnconfirmed { host, half, ends }));
            }
        }
        if scope.restores {
            let restores = |up_to| both.map(|running| Step::Restore { up_to, running });
            all.extend((0..changes).flat_map(restores));
        }
        for other in [ChangeScope::Orders, ChangeScope::Keys] {
            if other == half || scope.others {
                all.push(Step::Command { half: other, ends: false });
            }
        }
        match half {
            // A replica cancels the order itself.
            ChangeScope::Orders => {
                all.extend([Acknowledge, Judge, Refresh, Publish]);
                if scope.has_failovers {
                    all.extend([Start, Step::Open(Who::Cancels)]);
                } else {
                    all.push(Step::Join);
                }
                all.extend(both.map(|with_rows| Step::Send { with_rows }));
                all.extend(scope.in_pages.then_some(Step::Read));
                for replica in [Who::Cancels, Who::DoesAll] {
                    all.extend(both.map(|is_answered| Step::CarryOut { replica, is_answered }));
                }
            }
            ChangeScope::Keys => {
                all.extend(both.map(|with_rows| Step::Look { with_rows }));
                all.extend([Date, FollowKeys, LookUp, EnterKey]);
                all.push(Step::Command { half, ends: true });
            }
        }
        all
    }
}

impl World {
    /// One primary and nothing changed yet. Both replicas have had a session for long.
    pub fn new(scope: &Scope) -> World {
        let (timeline, forked_at, was_restored, journal) = (1, 0, false, Journal::default());
        let first = Primary { timeline, forked_at, was_restored, journal };
        let mut replica = Replica::new(if scope.in_pages { u64::MAX } else { 0 });
        replica.open(0, (0, false), &journal);
        for _ in 0..4 {
            replica.tick(true);
        }
        replica.open(0, (0, false), &journal);
        let mut canceller = Canceller::default();
        canceller.open(0, (0, false));
        (0..4).for_each(|_| canceller.tick());
        canceller.open(0, (0, false));
        let (committed, acknowledged, lost, revoked) = (0, 0, 0, None);
        let hosts = [Some(first), None, None];
        World { hosts, leader: 0, committed, acknowledged, lost, revoked, canceller, replica }
    }

    /// Takes this step, which may break a promise. None if it cannot be taken: the world may have
    /// changed then.
    pub fn step(&mut self, step: Step, scope: &Scope) -> Option<Result<(), Broken>> {
        self.take(step, scope)?;
        let broken = self.broken(scope);
        if let List::Sent { .. } = self.replica.list {
            self.replica.list = List::None;
        }
        if let replica::LookUp::LetsIn(_) = self.replica.look_up {
            self.replica.look_up = replica::LookUp::None;
        }
        Some(broken.map_or(Ok(()), Err))
    }

    fn take(&mut self, step: Step, scope: &Scope) -> Option<()> {
        let of_orders = scope.half == ChangeScope::Orders;
        let host = self.replica.session.map(|session| session.host);
        let primary = host.and_then(|host| self.hosts[host]);
        let journal = primary.as_ref().map(|primary| &primary.journal);
        let (must, replica) = (self.acknowledged, &mut self.replica);
        match step {
            Step::Tick => self.tick(of_orders),
            Step::Promote { up_to, has_followed } => self.promote(up_to, has_followed),
            Step::Restore { up_to, running } => self.restore(up_to, running),
            Step::CommitUnconfirmed { host, half, ends } => {
                let is_replaced = host != self.leader;
                is_replaced.then(|| self.commit(host, half, ends, scope))?.map(drop)
            }
            Step::Command { half, ends } => self.command(half, ends, scope),
            Step::Start => {
                self.canceller = Canceller::default();
                Some(())
            }
            Step::Open(who) => self.open(who),
            Step::Beat => self.beat(),
            Step::CarryOut { replica, is_answered } => self.carry_out(replica, is_answered, scope),
            Step::Acknowledge => self.acknowledge(),
            Step::Join => replica.join(must),
            Step::Send { with_rows } => {
                if scope.has_failovers {
                    replica.join(must)?;
                }
                replica.send(with_rows, scope.questions, journal?)
            }
            Step::Judge => replica.judge(),
            Step::Refresh => replica.refresh(journal, scope.in_pages),
            Step::Read => replica.read(journal, true),
            Step::Publish => replica.publish(),
            Step::Look { with_rows } => replica.look(with_rows, journal?),
            Step::Date if scope.key_answers_wait => replica.date(),
            Step::Date => replica.date().and_then(|()| replica.follow_keys().or(Some(()))),
            Step::FollowKeys => replica.follow_keys(),
            Step::LookUp if scope.key_answers_wait => replica.look_up(journal?),
            Step::LookUp => replica.look_up(journal?).and_then(|()| replica.enter_key()),
            Step::EnterKey => replica.enter_key(),
        }
    }

    fn broken(&self, scope: &Scope) -> Option<Broken> {
        let replica = &self.replica;
        if let List::Sent { must } = replica.list
            && must & !self.lost & !replica.orders.snapshot != 0
        {
            return Some(Broken::ListShowsCancelledOrder);
        }
        if replica.session.is_some_and(|session| session.under_way() > scope.questions) {
            return Some(Broken::SendsTooManyQuestions);
        }
        if let Some(session) = replica.session.filter(|session| !session.is_restored)
            && let Some(primary) = &self.hosts[session.host]
        {
            let (list, journal) = (replica.orders, &primary.journal);
            let [orders, keys] =
                [ChangeScope::Orders, ChangeScope::Keys].map(|half| journal.set(half, 0));
            let generation = session.generation;
            let follows_orders = list.reflected_after_removals().generation == generation;
            let cached = replica.cached.filter(|_| replica.reflected.generation == generation);
            if (follows_orders && (list.snapshot | list.pending_removals) & !orders != 0)
                || cached.is_some_and(|key| key & !keys != 0)
            {
                return Some(Broken::KeepsAnotherHistory);
            }
            let claims =
                |number| list.plan(ChangeNumber { generation, number }, None) == CatchUp::Nothing;
            let mut orders = journal.of(ChangeScope::Orders, 0);
            let differs = |(number, one)| claims(number) != (list.snapshot & one != 0);
            if follows_orders && orders.any(differs) {
                return Some(Broken::ListIsNotThatOfItsTag);
            }
            let mut keys = journal.of(ChangeScope::Keys, 0);
            let lacks = |key: Set| {
                keys.any(|(number, one)| number <= replica.reflected.number && key & one == 0)
            };
            if cached.is_some_and(lacks) {
                return Some(Broken::CachesOutdatedKey);
            }
        }
        let is_over = self.revoked.is_some_and(Tick::is_long_ago);
        let end = self.hosts.iter().flatten().fold(0, |all, host| all | host.journal.end());
        (is_over && replica.accepts_key_without(end)).then_some(Broken::AcceptsRevokedKey)
    }

    fn leader(&self) -> Option<Primary> {
        self.hosts[self.leader]
    }

    fn server(&self, host: usize) -> Server {
        (host, self.hosts[host].is_some_and(|primary| primary.was_restored))
    }

    fn tick(&mut self, of_orders: bool) -> Option<()> {
        self.canceller.tick();
        self.replica.tick(of_orders);
        self.revoked = self.revoked.map(Tick::aged);
        Some(())
    }

    fn promote(&mut self, up_to: u8, has_followed: bool) -> Option<()> {
        let leader = self.leader()?;
        let most = if has_followed { leader.journal.length } else { leader.forked_at };
        if up_to > most || (!has_followed && leader.timeline == 1) {
            return None;
        }
        // Standbys are alike.
        let host = self.hosts.iter().position(Option::is_none)?;
        let timeline = leader.timeline + u8::from(has_followed);
        let (journal, was_restored) = (leader.journal.up_to(up_to), false);
        self.hosts[host] = Some(Primary { timeline, forked_at: up_to, was_restored, journal });
        self.leader = host;
        self.release();
        Some(())
    }

    fn restore(&mut self, up_to: u8, running: bool) -> Option<()> {
        let leader = self.hosts[self.leader].as_mut()?;
        if leader.was_restored || up_to >= leader.journal.length {
            return None;
        }
        leader.was_restored = !running;
        leader.journal = leader.journal.up_to(up_to);
        leader.forked_at = leader.forked_at.min(up_to);
        let asks_for_keys = self.replica.asks_for_keys();
        let session = self.replica.session.as_mut().filter(|session| session.host == self.leader);
        match (session, running) {
            // To restore rows takes longer than an answer.
            (Some(session), true) if session.under_way() > 0 || asks_for_keys => return None,
            (Some(session), true) => session.is_restored = true,
            (Some(_), false) => self.replica.end_session(),
            (None, _) => {}
        }
        if !running {
            self.canceller.session.take_if(|(host, _)| *host == self.leader);
        }
        self.release();
        Some(())
    }

    /// What the operator lost is promised no longer.
    fn release(&mut self) {
        let Some(leader) = self.leader() else { return };
        self.lost |= self.acknowledged & !leader.journal.set(ChangeScope::Orders, 0);
        self.acknowledged &= !self.lost;
        if leader.journal.end() == 0 {
            self.revoked = None;
        }
    }

    fn commit(&mut self, host: usize, half: ChangeScope, ends: bool, scope: &Scope) -> Option<Set> {
        let journal = &mut self.hosts[host].as_mut()?.journal;
        if self.committed == scope.changes || (ends && journal.end() != 0) {
            return None;
        }
        self.committed += 1;
        Some(journal.push(self.committed, half, ends))
    }

    fn command(&mut self, half: ChangeScope, ends: bool, scope: &Scope) -> Option<()> {
        self.commit(self.leader, half, ends, scope)?;
        if ends {
            self.revoked = Some(NOW);
        }
        Some(())
    }

    fn open(&mut self, who: Who) -> Option<()> {
        let (leader, found) = (self.leader, self.leader()?);
        let server = self.server(leader);
        match who {
            Who::Cancels => self.canceller.open(leader, server),
            Who::DoesAll => self.replica.open(leader, server, &found.journal),
        }
        Some(())
    }

    fn beat(&mut self) -> Option<()> {
        let leader = self.leader;
        let session = self.replica.session.as_mut()?;
        (session.host == leader).then(|| session.lease.renew(NOW)).map(|_| ())
    }

    fn carry_out(&mut self, who: Who, is_answered: bool, scope: &Scope) -> Option<()> {
        let (host, wait) = match who {
            Who::Cancels => self.canceller.session?,
            Who::DoesAll => self.replica.session.map(|session| (session.host, session.wait))?,
        };
        wait.over(NOW).ok()?;
        let is_confirmed = host == self.leader;
        let is_done = who == Who::DoesAll && self.replica.done.is_some();
        if is_done || (is_answered && !is_confirmed) {
            return None;
        }
        let journal = self.hosts[host]?.journal;
        if is_answered && journal.end() != 0 {
            // It finds that the order was cancelled, by itself maybe: 204 or 404.
            let is_new = self.acknowledged & journal.end() == 0;
            return is_new.then(|| self.acknowledged |= journal.end());
        }
        let (before, is_known) =
            (journal.last_of(ChangeScope::Orders), journal.is_known(&self.replica.seen));
        let change = self.commit(host, ChangeScope::Orders, true, scope)?;
        let after = self.hosts[host]?.journal;
        match who {
            Who::Cancels if is_answered => self.acknowledged |= change,
            Who::DoesAll if is_answered => {
                self.replica.carried_out(change, before, is_known, &after);
            }
            _ => {}
        }
        Some(())
    }

    fn acknowledge(&mut self) -> Option<()> {
        let change = self.replica.apply_own()?;
        if self.leader()?.journal.end() & change != 0 {
            self.acknowledged |= change;
        }
        Some(())
    }
}
