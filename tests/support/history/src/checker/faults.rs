//! The faults of a recording. A fault may delay or lose the responses of the servers in its
//! `servers`.

use super::findings::Interval;
use crate::event::FaultBegun;
use std::time::Duration;

/// The checks extend each fault by this time at both ends. Recorded times are inexact, and clients
/// may find closed connections after a fault.
const GRACE_NANOS: u64 = 250_000_000;

#[derive(Default)]
pub struct Faults {
    past: Vec<(Interval, FaultBegun)>,
}

/// The effect of faults on the answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Excuse {
    /// The additional time that the response may take.
    pub lasted: Duration,
    /// True if the response may be lost. If false, the response may only be late.
    pub loses_answers: bool,
}

impl Faults {
    pub fn begin(&mut self, at: u64, fault: FaultBegun) {
        self.past.push((Interval { from: at, to: u64::MAX }, fault));
    }

    pub fn end_last(&mut self, at: u64) {
        if let Some((interval, _)) = self.past.last_mut() {
            interval.to = at;
        }
    }

    pub fn excuse(&self, server: &String, interval: Interval) -> Option<Excuse> {
        let server_faults =
            self.overlapping(interval).filter(|(_, fault)| fault.servers.contains(server));
        let excuses = server_faults.map(|(lasted, fault)| Excuse {
            lasted: Duration::from_nanos(lasted.overlap(interval)),
            loses_answers: !fault.loses_no_answers,
        });
        excuses.reduce(|one, other| Excuse {
            lasted: one.lasted.saturating_add(other.lasted),
            loses_answers: one.loses_answers || other.loses_answers,
        })
    }

    /// Returns the nanoseconds of the interval that lie outside all faults. Each fault is extended
    /// by `GRACE_NANOS` at both ends. The result is too low if faults overlap, because their
    /// overlap is subtracted twice.
    pub fn time_without_faults(&self, interval: Interval) -> u64 {
        let faults: u64 =
            self.overlapping(interval).map(|(lasted, _)| lasted.overlap(interval)).sum();
        interval.length().saturating_sub(faults)
    }

    fn overlapping(&self, interval: Interval) -> impl Iterator<Item = (Interval, &FaultBegun)> {
        let faults = self.past.iter().rev();
        let faults = faults.map(move |(fault, begun)| {
            let from = fault.from.saturating_sub(GRACE_NANOS);
            (Interval { from, to: fault.to.saturating_add(GRACE_NANOS) }, begun)
        });
        let recent = faults.take_while(move |(fault, _)| fault.to >= interval.from);
        recent.filter(move |(fault, _)| fault.from <= interval.to)
    }
}
