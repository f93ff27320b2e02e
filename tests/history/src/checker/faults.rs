//! The faults of a recording, and which servers' answers they may delay or lose.

use super::findings::Interval;
use crate::event::FaultBegun;

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

    /// Whether a fault between this server and its clients overlaps the interval.
    pub fn excuse(&self, server: &String, interval: Interval) -> bool {
        let since = |(fault, _): &&(Interval, FaultBegun)| {
            fault.to.saturating_add(GRACE_NANOS) >= interval.from
        };
        let recent = self.past.iter().rev().take_while(since);
        let mut overlapping = recent.filter(|(fault, _)| fault.from <= interval.to);
        overlapping.any(|(_, fault)| fault.servers.contains(server))
    }
}
