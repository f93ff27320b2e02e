//! Violations by rule: how many, and the first of each. Those of a bound in time are judged
//! when the machine's stalls are known.

use crate::violation::{Rule, Violation};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many violations of a rule are kept.
const KEPT: usize = 3;

/// How many exceeded bounds are kept of a rule: a stall exceeds many at once.
const KEPT_LATE: usize = 1_000;

/// How long a server answers from what it last read of the store, in nanoseconds.
const STALE_AFTER: u64 = 1_000_000_000;

/// What excuses that it could not read it again meanwhile.
const EXCUSING_STALL: u64 = 200_000_000;

/// From one time of the recording to another.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub from: u64,
    pub to: u64,
}

impl Interval {
    /// How long both last at once.
    pub fn overlap(self, other: Interval) -> u64 {
        self.to.min(other.to).saturating_sub(self.from.max(other.from))
    }
}

/// What was found.
#[derive(Default)]
pub struct Findings {
    found: BTreeMap<Rule, (usize, Vec<Violation>)>,
    late: BTreeMap<Rule, Vec<(Interval, u64, Violation)>>,
    stalls: Vec<Interval>,
}

impl Findings {
    /// A violation.
    pub fn add(&mut self, violation: Violation) {
        let (times, first) = self.found.entry(violation.rule).or_default();
        *times += 1;
        if first.len() < KEPT {
            first.push(violation);
        }
    }

    /// A violation if the interval, without the machine's stalls in it, is longer.
    pub fn add_if_longer(&mut self, interval: Interval, bound: Duration, violation: Violation) {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        let late = self.late.entry(violation.rule).or_default();
        if interval.to.saturating_sub(interval.from) > bound && late.len() < KEPT_LATE {
            late.push((interval, bound, violation));
        }
    }

    /// A violation unless the machine stood still then, or shortly before: a server that
    /// could not look at its store for a second refuses what it may not know any more.
    pub fn add_unless_stalled(&mut self, interval: Interval, violation: Violation) {
        let from = interval.from.saturating_sub(STALE_AFTER);
        let bound = (interval.to - from).saturating_sub(EXCUSING_STALL);
        let since = Interval { from, to: interval.to };
        self.add_if_longer(since, Duration::from_nanos(bound), violation);
    }

    /// The machine stood still.
    pub fn stall(&mut self, from: u64, to: u64) {
        self.stalls.push(Interval { from, to });
    }

    /// How many violations are no matter of time.
    pub fn certain(&self) -> usize {
        self.found.values().map(|(times, _)| times).sum()
    }

    /// The first violations of each rule.
    pub fn violations(&self) -> Vec<Violation> {
        let mut all: Vec<Violation> = Vec::new();
        for (times, first) in self.found.values() {
            let more = times - first.len();
            all.extend(first.iter().cloned());
            if let Some(last) = all.last_mut().filter(|_| more > 0) {
                last.text.push_str(&format!(" (and {more} more of this rule)"));
            }
        }
        for late in self.late.values() {
            let is_longer = |(interval, bound, _): &&(Interval, u64, Violation)| {
                let stalled: u64 = self.stalls.iter().map(|stall| stall.overlap(*interval)).sum();
                interval.to - interval.from > bound + stalled
            };
            for (interval, _, violation) in late.iter().filter(is_longer).take(KEPT) {
                let mut violation = violation.clone();
                let took = Duration::from_nanos(interval.to - interval.from);
                violation.text.push_str(&format!(" ({took:.3?})"));
                violation.is_of_time = true;
                all.push(violation);
            }
        }
        all
    }
}
