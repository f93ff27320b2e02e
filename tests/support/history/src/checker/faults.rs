//! The faults of a recording, and which servers' answers they may delay or lose.

use super::findings::Interval;
use crate::event::FaultBegun;
use std::time::Duration;

/// How long after a fault a client may still find its connections closed, and how much the
/// times of a fault and of an answer may differ.
const GRACE_NANOS: u64 = 250_000_000;

/// All faults so far.
#[derive(Default)]
pub struct Faults {
    past: Vec<(Interval, FaultBegun)>,
}

/// What a fault excuses.
#[derive(Clone, Copy, Debug)]
pub struct Excuse {
    /// How much later an answer may come.
    pub lasted: Duration,
    /// Whether it may not come at all.
    pub loses_answers: bool,
}

impl Faults {
    /// A fault begins.
    pub fn begin(&mut self, at: u64, fault: FaultBegun) {
        self.past.push((Interval { from: at, to: u64::MAX }, fault));
    }

    /// The last one has been undone.
    pub fn undone(&mut self, at: u64) {
        if let Some((interval, _)) = self.past.last_mut() {
            interval.to = at;
        }
    }

    /// What excuses an answer of this server in the interval: the faults between it and its
    /// clients; `None` if there is none.
    pub fn excuse(&self, server: &String, interval: Interval) -> Option<Excuse> {
        let of_server = self.since(interval).filter(|(_, fault)| fault.servers.contains(server));
        let excuses = of_server.map(|(lasted, fault)| Excuse {
            lasted: Duration::from_nanos(lasted.overlap(interval)),
            loses_answers: !fault.loses_no_answers,
        });
        excuses.reduce(|one, other| Excuse {
            lasted: one.lasted.saturating_add(other.lasted),
            loses_answers: one.loses_answers || other.loses_answers,
        })
    }

    /// How much of the interval, in nanoseconds, was without a fault of any kind.
    pub fn without(&self, interval: Interval) -> u64 {
        let faults: u64 = self.since(interval).map(|(lasted, _)| lasted.overlap(interval)).sum();
        interval.length().saturating_sub(faults)
    }

    /// The faults that touch the interval.
    fn since(&self, interval: Interval) -> impl Iterator<Item = (Interval, &FaultBegun)> {
        let faults = self.past.iter().rev();
        let faults = faults.map(move |(fault, begun)| {
            let from = fault.from.saturating_sub(GRACE_NANOS);
            (Interval { from, to: fault.to.saturating_add(GRACE_NANOS) }, begun)
        });
        let recent = faults.take_while(move |(fault, _)| fault.to >= interval.from);
        recent.filter(move |(fault, _)| fault.from <= interval.to)
    }
}
