//! The model's state, its steps, and the properties that must hold after each step.

use crate::agreement::list::CatchUp;
use crate::agreement::position::Position;
use crate::hosts::{ChangeScope, Journal, Primary, Server, Set};
use crate::replica::{self, Canceller, List, Replica};
use crate::time::{NOW, Tick};

#[derive(Clone, Copy)]
pub struct Scope {
    /// The part of the store that the search checks. With `Orders`, replicas cancel the model's
    /// order. With `Keys`, a command revokes the model's key.
    pub change_scope: ChangeScope,
    /// Maximum number of changes, on all hosts together.
    pub changes: u8,
    /// Maximum number of concurrent queries: one or two.
    pub queries: usize,
    /// True if the replica starts without a list and reads rows in pages.
    pub reads_pages: bool,
    /// True if primaries are replaced and time passes. A list request and its query are then a
    /// single step, to limit the number of states.
    pub has_failovers: bool,
    /// True if the current primary can lose changes in a restore, as [`Step::Restore`] describes.
    pub has_restores: bool,
    /// True if both orders and keys change. If false, only the part of the store in `change_scope`
    /// changes.
    pub has_other_changes: bool,
    /// True if other steps can happen before a replica uses the answer to a lookup or poll of keys.
    pub delays_key_answers: bool,
}

/// The ways in which a step can break a promise. `lib.rs` explains the promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A list requested after a cancellation was acknowledged (204) still contains the cancelled
    /// order.
    ListShowsCancelledOrder,
    ContainsAnotherHistory,
    /// A list differs from the store's state at the position that the list claims.
    ListDiffersFromItsTag,
    /// The cached key lacks a change that the cache claims to reflect.
    CachesOutdatedKey,
    AcceptsRevokedKey,
    SendsTooManyQueries,
}

/// The complete state of the model. The search recognizes a visited state by the hash of this
/// value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct World {
    /// `Some` for hosts that are or were primary; all others are standbys.
    hosts: [Option<Primary>; 3],
    leader: usize,
    committed: u8,
    /// The cancellation, if it was acknowledged and has not been lost; otherwise empty.
    acknowledged: Set,
    /// The acknowledged cancellation, if a restore or failover has lost it.
    lost: Set,
    /// The time at which the key's revocation was acknowledged. `None` before the acknowledgement,
    /// and after a restore or failover has lost the revocation.
    revoked: Option<Tick>,
    /// A replica that only cancels. One such replica is enough, because a replica's memory does not
    /// affect other replicas.
    canceller: Canceller,
    replica: Replica,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaKind {
    Canceller,
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Tick,
    /// A standby with the leader's journal up to `up_to` becomes the leader. The timeline number of
    /// the new leader is 1 more than the last one that the standby knows. If `has_followed` is
    /// false, the standby does not know the old leader's timeline, so both leaders have the same
    /// number.
    Promote {
        up_to: u8,
        has_followed: bool,
    },
    /// The leader loses all changes after the change `up_to`. If `running` is true, only the rows
    /// are restored, and PostgreSQL keeps running. If it is false, PostgreSQL restarts from a base
    /// backup.
    Restore {
        up_to: u8,
        running: bool,
    },
    /// The primary `host`, which is no longer the leader, commits without a standby and shows the
    /// commit to readers. If `ends` is true, the commit cancels the order or revokes the key.
    /// Otherwise, it is another change of `change_scope`.
    CommitUnconfirmed {
        host: usize,
        change_scope: ChangeScope,
        ends: bool,
    },
    /// A command commits a change and is acknowledged. If `ends` is true, the change revokes the
    /// key. Otherwise, the change is a step of an import (`Orders`), or another change of the key
    /// (`Keys`).
    Command {
        change_scope: ChangeScope,
        ends: bool,
    },
    /// The canceller, the replica that only cancels, restarts and forgets its sessions.
    Start,
    /// A replica opens a session to the leader. An earlier session of the replica ends.
    Open(ReplicaKind),
    /// Sends and confirms a heartbeat in one step. A slower heartbeat only shortens the lease, so
    /// the model omits it.
    Heartbeat,
    /// A batch that contains the cancellation is committed. If `is_answered` is false, a later step
    /// can execute the batch again.
    Cancel {
        replica: ReplicaKind,
        is_answered: bool,
    },
    /// The replica applies its own cancellation in memory and sends the 204 for it.
    Acknowledge,
    RequestList,
    SendQuery {
        with_rows: bool,
    },
    AcceptAnswer,
    Refresh,
    Read,
    Publish,
    /// The replica polls for changes of the keys. `with_rows` is false if the answer cannot contain
    /// all changed rows.
    PollKeys {
        with_rows: bool,
    },
    AcceptPoll,
    ApplyPoll,
    LookUpKey,
    EnterKey,
}

impl Step {
    /// Returns the steps that a search tries in each state.
    pub fn all(scope: &Scope) -> Vec<Step> {
        use Step::{AcceptAnswer, AcceptPoll, Acknowledge, ApplyPoll, EnterKey, LookUpKey};
        use Step::{Publish, Refresh, Start};
        let (both, change_scope, changes) = ([true, false], scope.change_scope, scope.changes);
        let mut all = vec![Step::Open(ReplicaKind::Full)];
        if scope.has_failovers {
            all.extend([Step::Tick, Step::Heartbeat]);
            for up_to in 0..=changes {
                all.extend(both.map(|has_followed| Step::Promote { up_to, has_followed }));
            }
            for host in 0..3 {
                all.extend(both.map(|ends| Step::CommitUnconfirmed { host, change_scope, ends }));
            }
        }
        if scope.has_restores {
            let restore_steps = |up_to| both.map(|running| Step::Restore { up_to, running });
            all.extend((0..changes).flat_map(restore_steps));
        }
        for other in [ChangeScope::Orders, ChangeScope::Keys] {
            if other == change_scope || scope.has_other_changes {
                all.push(Step::Command { change_scope: other, ends: false });
            }
        }
        match change_scope {
            // `ends` marks a change that cancels the order or revokes the key. In the model, a
            // command can revoke the key but cannot cancel the order. So this branch has no
            // `Step::Command` whose `ends` is true.
            ChangeScope::Orders => {
                all.extend([Acknowledge, AcceptAnswer, Refresh, Publish]);
                if scope.has_failovers {
                    all.extend([Start, Step::Open(ReplicaKind::Canceller)]);
                } else {
                    all.push(Step::RequestList);
                }
                all.extend(both.map(|with_rows| Step::SendQuery { with_rows }));
                all.extend(scope.reads_pages.then_some(Step::Read));
                for replica in [ReplicaKind::Canceller, ReplicaKind::Full] {
                    all.extend(both.map(|is_answered| Step::Cancel { replica, is_answered }));
                }
            }
            ChangeScope::Keys => {
                all.extend(both.map(|with_rows| Step::PollKeys { with_rows }));
                all.extend([AcceptPoll, ApplyPoll, LookUpKey, EnterKey]);
                all.push(Step::Command { change_scope, ends: true });
            }
        }
        all
    }
}

impl World {
    /// Creates a world with one primary, which has no changes yet. The replica and the canceller
    /// finish their waits for old leases in a first session. A second session to the same primary
    /// needs no wait and has a fresh lease.
    pub fn new(scope: &Scope) -> World {
        let (timeline, forked_at, was_restored, journal) = (1, 0, false, Journal::default());
        let first = Primary { timeline, forked_at, was_restored, journal };
        let mut replica = Replica::new(if scope.reads_pages { u64::MAX } else { 0 });
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

    /// Takes a step. Returns an error if the step breaks a promise, or `None` if the step is
    /// impossible. After `None`, the state may have changed.
    pub fn step(&mut self, step: Step, scope: &Scope) -> Option<Result<(), Broken>> {
        self.apply_step(step, scope)?;
        let broken = self.broken(scope);
        if let List::Sent { .. } = self.replica.list {
            self.replica.list = List::None;
        }
        if let replica::KeyLookUp::Authorises(_) = self.replica.look_up {
            self.replica.look_up = replica::KeyLookUp::None;
        }
        Some(broken.map_or(Ok(()), Err))
    }

    fn apply_step(&mut self, step: Step, scope: &Scope) -> Option<()> {
        let concerns_orders = scope.change_scope == ChangeScope::Orders;
        let host = self.replica.session.map(|session| session.host);
        let primary = host.and_then(|host| self.hosts[host]);
        let journal = primary.as_ref().map(|primary| &primary.journal);
        let (must_reflect, replica) = (self.acknowledged, &mut self.replica);
        match step {
            Step::Tick => self.tick(concerns_orders),
            Step::Promote { up_to, has_followed } => self.promote(up_to, has_followed),
            Step::Restore { up_to, running } => self.restore(up_to, running),
            Step::CommitUnconfirmed { host, change_scope, ends } => {
                let is_replaced = host != self.leader;
                is_replaced.then(|| self.commit(host, change_scope, ends, scope))?.map(drop)
            }
            Step::Command { change_scope, ends } => self.command(change_scope, ends, scope),
            Step::Start => {
                self.canceller = Canceller::default();
                Some(())
            }
            Step::Open(replica) => self.open(replica),
            Step::Heartbeat => self.heartbeat(),
            Step::Cancel { replica, is_answered } => self.cancel(replica, is_answered, scope),
            Step::Acknowledge => self.acknowledge(),
            Step::RequestList => replica.request_list(must_reflect),
            Step::SendQuery { with_rows } => {
                if scope.has_failovers {
                    replica.request_list(must_reflect)?;
                }
                replica.send_query(with_rows, scope.queries, journal?)
            }
            Step::AcceptAnswer => replica.accept_answer(),
            Step::Refresh => replica.refresh(journal, scope.reads_pages),
            Step::Read => replica.read(journal, true),
            Step::Publish => replica.publish(),
            Step::PollKeys { with_rows } => replica.poll_keys(with_rows, journal?),
            Step::AcceptPoll if scope.delays_key_answers => replica.accept_poll(),
            Step::AcceptPoll => {
                replica.accept_poll().and_then(|()| replica.apply_poll().or(Some(())))
            }
            Step::ApplyPoll => replica.apply_poll(),
            Step::LookUpKey if scope.delays_key_answers => replica.look_up(journal?),
            Step::LookUpKey => replica.look_up(journal?).and_then(|()| replica.enter_key()),
            Step::EnterKey => replica.enter_key(),
        }
    }

    fn broken(&self, scope: &Scope) -> Option<Broken> {
        let replica = &self.replica;
        if let List::Sent { must_reflect } = replica.list
            && must_reflect & !self.lost & !replica.orders.snapshot != 0
        {
            return Some(Broken::ListShowsCancelledOrder);
        }
        if replica.session.is_some_and(|session| session.under_way() > scope.queries) {
            return Some(Broken::SendsTooManyQueries);
        }
        if let Some(session) = replica.session.filter(|session| !session.is_restored)
            && let Some(primary) = &self.hosts[session.host]
        {
            let (list, journal) = (replica.orders, &primary.journal);
            let [orders, keys] =
                [ChangeScope::Orders, ChangeScope::Keys].map(|scope| journal.set(scope, 0));
            let history = session.history;
            let follows_orders = list.position().history == history;
            let cached = replica.cached.filter(|_| replica.reflected.history == history);
            if (follows_orders && (list.snapshot | list.pending_removals) & !orders != 0)
                || cached.is_some_and(|key| key & !keys != 0)
            {
                return Some(Broken::ContainsAnotherHistory);
            }
            let claims = |number| list.plan(Position { history, number }, None) == CatchUp::Nothing;
            let mut orders = journal.changes_after(ChangeScope::Orders, 0);
            let differs = |(number, one)| claims(number) != (list.snapshot & one != 0);
            if follows_orders && orders.any(differs) {
                return Some(Broken::ListDiffersFromItsTag);
            }
            let mut keys = journal.changes_after(ChangeScope::Keys, 0);
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

    fn tick(&mut self, concerns_orders: bool) -> Option<()> {
        self.canceller.tick();
        self.replica.tick(concerns_orders);
        self.revoked = self.revoked.map(Tick::older);
        Some(())
    }

    fn promote(&mut self, up_to: u8, has_followed: bool) -> Option<()> {
        let leader = self.leader()?;
        let most = if has_followed { leader.journal.length } else { leader.forked_at };
        if up_to > most || (!has_followed && leader.timeline == 1) {
            return None;
        }
        // All standbys are equal, so the first one is promoted.
        let host = self.hosts.iter().position(Option::is_none)?;
        let timeline = leader.timeline + u8::from(has_followed);
        let (journal, was_restored) = (leader.journal.up_to(up_to), false);
        self.hosts[host] = Some(Primary { timeline, forked_at: up_to, was_restored, journal });
        self.leader = host;
        self.release_lost();
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
        let queries_keys = self.replica.queries_keys();
        let session = self.replica.session.as_mut().filter(|session| session.host == self.leader);
        match (session, running) {
            // Do not restore rows during a query. A real restore locks the rows, so the query would
            // time out.
            (Some(session), true) if session.under_way() > 0 || queries_keys => return None,
            (Some(session), true) => session.is_restored = true,
            (Some(_), false) => self.replica.end_session(),
            (None, _) => {}
        }
        if !running {
            self.canceller.session.take_if(|(host, _)| *host == self.leader);
        }
        self.release_lost();
        Some(())
    }

    /// Stops checking changes that the leader has lost, because promises 1 and 3 in `lib.rs` do not
    /// cover them.
    fn release_lost(&mut self) {
        let Some(leader) = self.leader() else { return };
        self.lost |= self.acknowledged & !leader.journal.set(ChangeScope::Orders, 0);
        self.acknowledged &= !self.lost;
        if leader.journal.end() == 0 {
            self.revoked = None;
        }
    }

    fn commit(
        &mut self,
        host: usize,
        change_scope: ChangeScope,
        ends: bool,
        scope: &Scope,
    ) -> Option<Set> {
        let journal = &mut self.hosts[host].as_mut()?.journal;
        if self.committed == scope.changes || (ends && journal.end() != 0) {
            return None;
        }
        self.committed += 1;
        Some(journal.push(self.committed, change_scope, ends))
    }

    fn command(&mut self, change_scope: ChangeScope, ends: bool, scope: &Scope) -> Option<()> {
        self.commit(self.leader, change_scope, ends, scope)?;
        if ends {
            self.revoked = Some(NOW);
        }
        Some(())
    }

    fn open(&mut self, replica: ReplicaKind) -> Option<()> {
        let (leader, primary) = (self.leader, self.leader()?);
        let server = self.server(leader);
        match replica {
            ReplicaKind::Canceller => self.canceller.open(leader, server),
            ReplicaKind::Full => self.replica.open(leader, server, &primary.journal),
        }
        Some(())
    }

    fn heartbeat(&mut self) -> Option<()> {
        let leader = self.leader;
        let session = self.replica.session.as_mut()?;
        (session.host == leader).then(|| session.lease.renew(NOW)).map(|_| ())
    }

    fn cancel(&mut self, replica: ReplicaKind, is_answered: bool, scope: &Scope) -> Option<()> {
        let (host, wait) = match replica {
            ReplicaKind::Canceller => self.canceller.session?,
            ReplicaKind::Full => {
                self.replica.session.map(|session| (session.host, session.wait))?
            }
        };
        wait.over(NOW).ok()?;
        let is_confirmed = host == self.leader;
        let has_unapplied = replica == ReplicaKind::Full && self.replica.unapplied.is_some();
        if has_unapplied || (is_answered && !is_confirmed) {
            return None;
        }
        let journal = self.hosts[host]?.journal;
        if is_answered && journal.end() != 0 {
            // The order is already cancelled. The client takes both 204 and 404 as success, so the
            // cancellation becomes acknowledged.
            let is_new = self.acknowledged & journal.end() == 0;
            return is_new.then(|| self.acknowledged |= journal.end());
        }
        let (before, is_known) =
            (journal.last_number(ChangeScope::Orders), journal.is_known(&self.replica.seen));
        let change = self.commit(host, ChangeScope::Orders, true, scope)?;
        let after = self.hosts[host]?.journal;
        match replica {
            ReplicaKind::Canceller if is_answered => self.acknowledged |= change,
            ReplicaKind::Full if is_answered => {
                self.replica.accept_cancellation(change, before, is_known, &after);
            }
            _ => {}
        }
        Some(())
    }

    fn acknowledge(&mut self) -> Option<()> {
        let change = self.replica.apply_own_cancellation()?;
        if self.leader()?.journal.end() & change != 0 {
            self.acknowledged |= change;
        }
        Some(())
    }
}
