//! What fails in a drill, and how each fault is drawn.

use super::topology::Topology;
use clap::ValueEnum;
use std::collections::BTreeSet;
use std::time::Duration;

/// Something that fails, and is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FaultKind {
    /// kill -9 of a server, which is started again
    ServerKill,
    /// A server is suspended (SIGSTOP)
    ServerPause,
    /// All servers are stopped and started again, one after the other
    RollingRestart,
    /// The wall clock of a server is moved
    ServerClock,
    /// Clients' connections to a server are reset
    ClientsReset,
    /// The network between clients and a server delivers late
    ClientsDelay,
    /// Clients' requests arrive at a server, its answers do not
    ClientsHalfOpen,
    /// kill -9 of the primary, which is started again
    PrimaryKill,
    /// The primary is suspended (SIGSTOP)
    PrimaryPause,
    /// kill -9 of the standby, which is started again
    StandbyKill,
    /// The standby is suspended (SIGSTOP)
    StandbyPause,
    /// The network between primary and standby is silent
    StandbyCut,
    /// kill -9 of the primary, and the standby is promoted
    PromoteKilled,
    /// The primary is suspended, the standby promoted, and the old primary goes on
    PromotePaused,
    /// The standby is promoted while the old primary runs, and reaches it no longer
    PromoteCut,
    /// The network to PostgreSQL is silent
    StoreCut,
    /// The network to PostgreSQL delivers late
    StoreDelay,
    /// Requests arrive at PostgreSQL, answers do not
    StoreHalfOpen,
    /// Connections to PostgreSQL are reset
    StoreReset,
    /// Connections to PostgreSQL end when a COMMIT is answered
    StoreCutAtCommit,
    /// The network between the operator's commands and PostgreSQL is silent
    CommandsCut,
    /// Connections of the operator's commands end when a COMMIT is answered
    CommandsCutAtCommit,
    /// Each fsync of the server takes longer
    DiskSlow,
    /// No fsync of the server comes back for seconds
    DiskHung,
    /// Each fsync of the server fails
    DiskFails,
    /// The server's disk is full
    DiskFull,
    /// The power is cut: the server ends, and of its store is left what was synced
    PowerCut,
}

/// Upper estimate for one draw and its recovery.
const A_DRAW: Duration = Duration::from_secs(6);

impl FaultKind {
    /// All that can happen there.
    pub fn kinds_on(topology: Topology) -> impl Iterator<Item = FaultKind> {
        FaultKind::value_variants().iter().copied().filter(move |kind| kind.is_on(topology))
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }

    /// Whether a standby is promoted.
    pub fn promotes(self) -> bool {
        use FaultKind::{PromoteCut, PromoteKilled, PromotePaused};
        matches!(self, PromoteKilled | PromotePaused | PromoteCut)
    }

    /// Whether only a COMMIT meets it.
    fn cuts_commits(self) -> bool {
        matches!(self, FaultKind::StoreCutAtCommit | FaultKind::CommandsCutAtCommit)
    }

    /// Whether it can happen there.
    pub fn is_on(self, topology: Topology) -> bool {
        use FaultKind::{ClientsDelay, ClientsHalfOpen, ClientsReset, ServerKill, ServerPause};
        match self {
            ServerKill | ServerPause | ClientsReset | ClientsDelay | ClientsHalfOpen => true,
            _ => (self.drawn().0 == Layer::Disk) == (topology == Topology::Embedded),
        }
    }

    /// Whether the request counts of the last second may be lost: where they are counted ends.
    pub fn may_lose_counts(self, topology: Topology) -> bool {
        match topology {
            Topology::Postgres => self == FaultKind::PrimaryKill || self.promotes(),
            Topology::Embedded => matches!(self, FaultKind::ServerKill | FaultKind::PowerCut),
        }
    }

    /// Whether a server that counts by itself cannot write them to its disk.
    pub fn saves_no_counts(self) -> bool {
        matches!(self, FaultKind::DiskFails | FaultKind::DiskHung | FaultKind::DiskFull)
    }

    /// How often it is drawn, relative to the others.
    fn weight(self) -> usize {
        1 + usize::from(self.promotes())
    }

    /// What it strikes, and how long it lasts, in milliseconds: between these. What waits for it
    /// has deadlines, which the longest exceed.
    fn drawn(self) -> (Layer, (u64, u64)) {
        use Layer::{All, Databases, Disk, Networks, Servers};
        match self {
            // What is killed is started again then, and what is paused goes on.
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

    /// Whether none of another layer comes at the same time.
    fn is_alone(self) -> bool {
        matches!(self.drawn().0, Layer::All | Layer::Disk)
    }
}

/// A fault that was drawn.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What fails.
    pub kind: FaultKind,
    /// For how long.
    pub lasts: Duration,
    /// Which server it strikes; the number chooses among them.
    pub server: usize,
    /// Whether it strikes all servers, where it can.
    pub strikes_all: bool,
    /// How late the network delivers, where it does.
    pub delay: Duration,
}

/// A fault, or two at once.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// In the order in which they begin; they are undone in the opposite order.
    pub faults: Vec<Fault>,
    /// How long everything works before them.
    pub after: Duration,
    /// Whether clients send little meanwhile: full load hides what a request brings to light.
    pub is_calm: bool,
}

/// What faults strike. Two at once strike different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Servers,
    Networks,
    Databases,
    Disk,
    All,
}

/// Of this many draws of faults that can come with another, one has two.
const DRAWS_PER_PAIR: u8 = 2;

/// Draws faults by a seed: all kinds, each as often as its weight says, in a random order,
/// again and again. In the first round no other fault hides one that only a COMMIT meets.
pub struct Draw {
    topology: Topology,
    random: fastrand::Rng,
    only: Option<FaultKind>,
    left: Vec<FaultKind>,
    rounds: usize,
}

impl Draw {
    /// Faults of this seed, or of one kind alone.
    pub fn new(topology: Topology, seed: u64, only: Option<FaultKind>) -> Draw {
        let (random, left) = (fastrand::Rng::with_seed(seed), Vec::new());
        Draw { topology, random, only, left, rounds: 0 }
    }

    /// How many draws this time is enough for.
    pub fn count_in(time: Duration) -> usize {
        usize::try_from(time.as_secs() / A_DRAW.as_secs()).unwrap_or(usize::MAX)
    }

    /// The kinds that come in this time, and meet something.
    pub fn kinds_in(self, time: Duration) -> BTreeSet<FaultKind> {
        let kinds = |drawn: Drawn| {
            let is_alone = drawn.faults.len() == 1;
            let kinds = drawn.faults.into_iter().map(|fault| fault.kind);
            // There may be no COMMIT next to another fault.
            kinds.filter(move |kind| is_alone || !kind.cuts_commits())
        };
        self.take(Draw::count_in(time)).flat_map(kinds).collect()
    }

    fn kind(&mut self) -> Option<FaultKind> {
        if self.left.is_empty() {
            let kinds = FaultKind::kinds_on(self.topology);
            self.left = kinds.flat_map(|kind| vec![kind; kind.weight()]).collect();
            self.random.shuffle(&mut self.left);
            self.rounds += 1;
        }
        let drawn = self.left.pop()?;
        Some(self.only.unwrap_or(drawn))
    }

    /// The last of the kinds that are left which can fail at the same time as this one.
    fn second_kind(&mut self, first: FaultKind) -> Option<FaultKind> {
        let must_be_alone =
            |kind: FaultKind| kind.is_alone() || (self.rounds == 1 && kind.cuts_commits());
        if must_be_alone(first) {
            return None;
        }
        let other = |kind: &FaultKind| !must_be_alone(*kind) && kind.drawn().0 != first.drawn().0;
        let at = self.left.iter().rposition(other)?;
        Some(self.left.remove(at))
    }

    fn fault(&mut self, kind: FaultKind) -> Fault {
        let (shortest, longest) = kind.drawn().1;
        let random = &mut self.random;
        let mut ms = |range| Duration::from_millis(random.u64(range));
        let (lasts, delay) = (ms(shortest..=longest), ms(10..=200));
        let (server, strikes_all) = (self.random.usize(0..60), self.random.bool());
        Fault { kind, lasts, server, strikes_all, delay }
    }
}

impl Iterator for Draw {
    type Item = Drawn;

    fn next(&mut self) -> Option<Drawn> {
        let first = self.kind()?;
        let mut kinds = vec![first];
        let is_alone = self.only.is_some() || first.is_alone();
        if !is_alone && self.random.u8(0..DRAWS_PER_PAIR) == 0 {
            kinds.extend(self.second_kind(first));
            // A server that is started again may need the other fault undone before.
            kinds.sort_by_key(|kind| kind.drawn().0 != Layer::Servers);
        }
        let faults = kinds.into_iter().map(|kind| self.fault(kind)).collect();
        let after = Duration::from_millis(self.random.u64(200..=900));
        Some(Drawn { faults, after, is_calm: self.random.bool() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_within_ten_minutes_whatever_the_seed() {
        for topology in [Topology::Postgres, Topology::Embedded] {
            let all: BTreeSet<FaultKind> = FaultKind::kinds_on(topology).collect();
            for seed in 0..2_000 {
                let kinds = Draw::new(topology, seed, None).kinds_in(Duration::from_secs(600));
                assert_eq!(kinds, all, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_seed_draws_the_same_faults_and_all_kinds_of_them() {
        for topology in [Topology::Postgres, Topology::Embedded] {
            let drawn = |seed, only| -> Vec<String> {
                let faults = Draw::new(topology, seed, only).take(200);
                faults.map(|fault| format!("{fault:?}")).collect()
            };
            assert_eq!(drawn(7, None), drawn(7, None));
            assert_ne!(drawn(7, None), drawn(8, None));
            for kind in FaultKind::kinds_on(topology) {
                let name = format!("{kind:?}");
                assert!(drawn(7, None).iter().any(|fault| fault.contains(&name)), "{name}");
                assert!(drawn(7, Some(kind)).iter().all(|fault| fault.contains(&name)), "{name}");
            }
            let pairs =
                Draw::new(topology, 7, None).take(200).filter(|drawn| drawn.faults.len() == 2);
            assert!(pairs.count() > 10);
        }
    }
}
