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

    /// Whether the last one can lose request counts.
    pub fn may_lose_counts(&self) -> bool {
        self.past.last().is_some_and(|(_, fault)| fault.may_lose_counts)
    }

    /// How long in the interval faults between this server and its clients last; `None` if
    /// there is none.
    pub fn excuse(&self, server: &String, interval: Interval) -> Option<Duration> {
        let with_grace = |fault: &Interval| Interval {
            from: fault.from.saturating_sub(GRACE_NANOS),
            to: fault.to.saturating_add(GRACE_NANOS),
        };
        let since = |(fault, _): &&(Interval, FaultBegun)| with_grace(fault).to >= interval.from;
        let recent = self.past.iter().rev().take_while(since);
        let overlapping = recent
            .filter(|(fault, begun)| fault.from <= interval.to && begun.servers.contains(server));
        let overlaps = overlapping.map(|(fault, _)| with_grace(fault).overlap(interval));
        overlaps.reduce(|one, other| one.saturating_add(other)).map(Duration::from_nanos)
    }
}
