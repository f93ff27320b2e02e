//! The kinds of faults of a chaos run, and their random selection.

use super::topology::Topology;
use clap::ValueEnum;
use std::collections::BTreeSet;
use std::time::Duration;

/// The kinds of faults. At the end of a [`FaultGroup`], its faults are undone. A promotion is an
/// exception: the new primary stays the primary and gets a new standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FaultKind {
    /// A server is killed (SIGKILL) and started again
    ServerKill,
    /// A server is suspended (SIGSTOP)
    ServerPause,
    /// Each server in turn is stopped and started again
    RollingRestart,
    /// The wall clock of a server is moved forward or back by more than a day
    ServerClock,
    /// A server's client connections are closed; new ones are also closed until the fault ends
    ClientsReset,
    /// The network between clients and a server adds a delay
    ClientsDelay,
    /// Requests reach a server, but its responses are held back until the fault ends
    ClientsHalfOpen,
    /// The primary is killed (SIGKILL) and started again
    PrimaryKill,
    /// The primary is suspended (SIGSTOP)
    PrimaryPause,
    /// The standby is killed (SIGKILL) and started again
    StandbyKill,
    /// The standby is suspended (SIGSTOP)
    StandbyPause,
    /// The network between primary and standby delivers nothing until the fault ends
    StandbyCut,
    /// The primary is killed (SIGKILL), and the standby is promoted
    PromoteKilled,
    /// The primary is suspended, the standby is promoted, and the old primary is resumed
    PromotePaused,
    /// The old primary still runs, but only one API server can reach it; the standby is promoted
    PromoteCut,
    /// The network between PostgreSQL and one or all servers delivers nothing until the fault ends
    StoreCut,
    /// The network between PostgreSQL and one or all servers adds a delay
    StoreDelay,
    /// The statements of one or all servers reach PostgreSQL, but the answers are held back until
    /// the fault ends
    StoreHalfOpen,
    /// PostgreSQL connections of one or all servers are closed. New connections are also closed
    /// until the fault ends
    StoreReset,
    /// Whenever PostgreSQL answers a COMMIT of one or all servers, the connection is closed and the
    /// answer is lost
    StoreCutAtCommit,
    /// The operator's network to PostgreSQL delivers nothing until the fault ends
    CommandsCut,
    /// Whenever PostgreSQL answers a COMMIT of an operator's command, the connection is closed and
    /// the answer is lost
    CommandsCutAtCommit,
    /// Each fsync of the server takes longer
    DiskSlow,
    /// Each fsync of the server hangs until the fault ends
    DiskHung,
    /// Each fsync of the server fails
    DiskFails,
    /// The server's disk is full
    DiskFull,
    /// The power is cut: the server is killed, and unsynced writes of its store are lost
    PowerCut,
}

/// The estimated average time that a group of faults takes, including the recovery after the
/// faults.
const FAULT_AND_RECOVERY_TIME: Duration = Duration::from_secs(6);

impl FaultKind {
    pub fn kinds_on(topology: Topology) -> impl Iterator<Item = FaultKind> {
        FaultKind::value_variants().iter().copied().filter(move |kind| kind.is_on(topology))
    }

    /// The name on the command line and in recorded histories.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }

    pub fn promotes(self) -> bool {
        use FaultKind::{PromoteCut, PromoteKilled, PromotePaused};
        matches!(self, PromoteKilled | PromotePaused | PromoteCut)
    }

    /// True if the fault takes effect only at a COMMIT.
    fn cuts_commits(self) -> bool {
        matches!(self, FaultKind::StoreCutAtCommit | FaultKind::CommandsCutAtCommit)
    }

    pub fn is_on(self, topology: Topology) -> bool {
        use FaultKind::{ClientsDelay, ClientsHalfOpen, ClientsReset, ServerKill, ServerPause};
        match self {
            ServerKill | ServerPause | ClientsReset | ClientsDelay | ClientsHalfOpen => true,
            _ => (self.layer_and_duration().0 == Layer::Disk) == (topology == Topology::Embedded),
        }
    }

    /// True if the fault may lose request counts that are not saved yet.
    pub fn may_lose_counts(self, topology: Topology) -> bool {
        match topology {
            Topology::Postgres => self == FaultKind::PrimaryKill || self.promotes(),
            Topology::Embedded => matches!(self, FaultKind::ServerKill | FaultKind::PowerCut),
        }
    }

    pub fn saves_no_counts(self) -> bool {
        matches!(self, FaultKind::DiskFails | FaultKind::DiskHung | FaultKind::DiskFull)
    }

    /// Returns how often each round of the schedule contains the fault.
    fn weight(self) -> usize {
        1 + usize::from(self.promotes())
    }

    /// Returns the layer that the fault affects, and the fault's shortest and longest duration in
    /// milliseconds. Some durations exceed [`history::GIVES_UP_AFTER`], to test clients that give
    /// up.
    fn layer_and_duration(self) -> (Layer, (u64, u64)) {
        use Layer::{All, Databases, Disk, Networks, Servers};
        match self {
            FaultKind::ServerKill => (Servers, (0, 1_000)),
            FaultKind::ServerPause => (Servers, (200, 3_000)),
            FaultKind::ServerClock => (Servers, (200, 2_000)),
            FaultKind::RollingRestart => (All, (0, 300)),
            FaultKind::PrimaryKill | FaultKind::StandbyKill => (Databases, (0, 1_000)),
            FaultKind::PrimaryPause => (Databases, (200, 8_000)),
            FaultKind::StandbyPause | FaultKind::StandbyCut => (Databases, (200, 5_000)),
            FaultKind::PromoteKilled => (Databases, (0, 300)),
            FaultKind::PromotePaused => (Databases, (0, 700)),
            FaultKind::PromoteCut => (Databases, (0, 100)),
            FaultKind::StoreCut => (Networks, (200, 8_000)),
            FaultKind::StoreHalfOpen => (Networks, (200, 5_000)),
            FaultKind::ClientsReset
            | FaultKind::ClientsDelay
            | FaultKind::ClientsHalfOpen
            | FaultKind::StoreDelay
            | FaultKind::StoreReset
            | FaultKind::StoreCutAtCommit
            | FaultKind::CommandsCut
            | FaultKind::CommandsCutAtCommit => (Networks, (200, 2_000)),
            FaultKind::PowerCut => (Disk, (0, 1_000)),
            FaultKind::DiskFails => (Disk, (200, 5_000)),
            FaultKind::DiskHung => (Disk, (6_000, 12_000)),
            FaultKind::DiskSlow | FaultKind::DiskFull => (Disk, (200, 2_000)),
        }
    }

    /// True if the fault must be alone in its group in every round of [`FaultSchedule`]. Faults at
    /// a COMMIT must be alone too, but only in the first round.
    fn is_alone(self) -> bool {
        matches!(self.layer_and_duration().0, Layer::All | Layer::Disk)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub duration: Duration,
    /// A random number that selects the affected server.
    pub server_choice: usize,
    /// The meaning depends on the kind of fault.
    ///
    /// - For a fault of the network between servers and PostgreSQL: true if it affects all servers,
    ///   false if it affects only the selected one.
    /// - For `PromoteKilled` and `PromotePaused`: true if all servers but one are cut off from the
    ///   old primary.
    /// - For `ServerClock`: true if the clock moves forward, false if it moves back.
    pub affects_all: bool,
    /// The delay of `ClientsDelay` and `DiskSlow`. The delay of `StoreDelay` is a quarter of this
    /// value.
    pub delay: Duration,
}

/// One fault, or two that overlap.
#[derive(Clone, Debug)]
pub struct FaultGroup {
    /// The faults in the order in which they begin; they are undone in the reverse order.
    pub faults: Vec<Fault>,
    /// The pause before this group. It begins when the servers have recovered from the previous
    /// group.
    pub after: Duration,
    /// True if clients send few requests during this group. Some defects are visible only without
    /// full load.
    pub is_calm: bool,
}

/// The layer that a fault affects. Two faults of a group affect different layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Servers,
    Networks,
    Databases,
    Disk,
    All,
}

/// Of the groups that may have a second fault, on average one in this many has one.
const GROUPS_PER_PAIR: u8 = 2;

/// Selects faults with a seeded random generator. Without `only_kind`, each round contains each
/// possible kind as often as its weight says, in random order.
///
/// In the first round, a fault at a COMMIT is alone in its group, because a second fault could
/// prevent all commits. Later rounds allow a second fault, because the first round has already
/// tested the COMMIT fault.
pub struct FaultSchedule {
    topology: Topology,
    random: fastrand::Rng,
    only_kind: Option<FaultKind>,
    remaining_kinds: Vec<FaultKind>,
    rounds: usize,
}

impl FaultSchedule {
    pub fn new(topology: Topology, seed: u64, only_kind: Option<FaultKind>) -> FaultSchedule {
        let (random, remaining_kinds) = (fastrand::Rng::with_seed(seed), Vec::new());
        FaultSchedule { topology, random, only_kind, remaining_kinds, rounds: 0 }
    }

    /// Returns how many groups of faults fit into `time`, if each takes
    /// `FAULT_AND_RECOVERY_TIME`.
    pub fn count_in(time: Duration) -> usize {
        usize::try_from(time.as_secs() / FAULT_AND_RECOVERY_TIME.as_secs()).unwrap_or(usize::MAX)
    }

    /// Returns the kinds of faults that must take effect in a run of this length.
    pub fn kinds_in(self, time: Duration) -> BTreeSet<FaultKind> {
        let kinds = |group: FaultGroup| {
            let is_alone = group.faults.len() == 1;
            let kinds = group.faults.into_iter().map(|fault| fault.kind);
            // A fault at a COMMIT may have no effect if it is not alone in its group, because the
            // other fault may prevent all commits.
            kinds.filter(move |kind| is_alone || !kind.cuts_commits())
        };
        self.take(FaultSchedule::count_in(time)).flat_map(kinds).collect()
    }

    fn kind(&mut self) -> Option<FaultKind> {
        if self.remaining_kinds.is_empty() {
            let kinds = FaultKind::kinds_on(self.topology);
            self.remaining_kinds = kinds.flat_map(|kind| vec![kind; kind.weight()]).collect();
            self.random.shuffle(&mut self.remaining_kinds);
            self.rounds += 1;
        }
        let kind = self.remaining_kinds.pop()?;
        Some(self.only_kind.unwrap_or(kind))
    }

    /// Removes the next kind that can happen together with `first`, and returns it.
    fn second_kind(&mut self, first: FaultKind) -> Option<FaultKind> {
        let must_be_alone =
            |kind: FaultKind| kind.is_alone() || (self.rounds == 1 && kind.cuts_commits());
        if must_be_alone(first) {
            return None;
        }
        let other = |kind: &FaultKind| {
            !must_be_alone(*kind) && kind.layer_and_duration().0 != first.layer_and_duration().0
        };
        let index = self.remaining_kinds.iter().rposition(other)?;
        Some(self.remaining_kinds.remove(index))
    }

    fn fault(&mut self, kind: FaultKind) -> Fault {
        let (shortest, longest) = kind.layer_and_duration().1;
        let random = &mut self.random;
        let mut ms = |range| Duration::from_millis(random.u64(range));
        let (duration, delay) = (ms(shortest..=longest), ms(10..=200));
        let (server_choice, affects_all) = (self.random.usize(0..60), self.random.bool());
        Fault { kind, duration, server_choice, affects_all, delay }
    }
}

impl Iterator for FaultSchedule {
    type Item = FaultGroup;

    fn next(&mut self) -> Option<FaultGroup> {
        let first = self.kind()?;
        let mut kinds = vec![first];
        let is_alone = self.only_kind.is_some() || first.is_alone();
        if !is_alone && self.random.u8(0..GROUPS_PER_PAIR) == 0 {
            kinds.extend(self.second_kind(first));
            // Put faults of servers first, because faults are undone in reverse order. A server may
            // be unable to start until the other fault is undone.
            kinds.sort_by_key(|kind| kind.layer_and_duration().0 != Layer::Servers);
        }
        let faults = kinds.into_iter().map(|kind| self.fault(kind)).collect();
        let after = Duration::from_millis(self.random.u64(200..=900));
        Some(FaultGroup { faults, after, is_calm: self.random.bool() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_occurs_within_ten_minutes_for_any_seed() {
        for topology in [Topology::Postgres, Topology::Embedded] {
            let all: BTreeSet<FaultKind> = FaultKind::kinds_on(topology).collect();
            for seed in 0..2_000 {
                let kinds =
                    FaultSchedule::new(topology, seed, None).kinds_in(Duration::from_secs(600));
                assert_eq!(kinds, all, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_seed_always_gives_the_same_faults_and_all_kinds_occur() {
        for topology in [Topology::Postgres, Topology::Embedded] {
            let draw = |seed, only_kind| -> Vec<String> {
                let faults = FaultSchedule::new(topology, seed, only_kind).take(200);
                faults.map(|fault| format!("{fault:?}")).collect()
            };
            assert_eq!(draw(7, None), draw(7, None));
            assert_ne!(draw(7, None), draw(8, None));
            for kind in FaultKind::kinds_on(topology) {
                let name = format!("{kind:?}");
                assert!(draw(7, None).iter().any(|fault| fault.contains(&name)), "{name}");
                assert!(draw(7, Some(kind)).iter().all(|fault| fault.contains(&name)), "{name}");
            }
            let pairs = FaultSchedule::new(topology, 7, None)
                .take(200)
                .filter(|group| group.faults.len() == 2);
            assert!(pairs.count() > 10);
        }
    }
}
