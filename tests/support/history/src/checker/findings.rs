//! Violations by rule: how many, and the first of each. Those of a bound in time are judged
//! when the machine's stalls are known.

use crate::violation::{Rule, Violation};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many violations of a rule are kept.
const KEPT: usize = 3;

/// How many exceeded bounds are kept of a rule until those that stalls explain are removed.
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

    /// How long it lasts together with these.
    pub fn overlaps<'a>(self, others: impl IntoIterator<Item = &'a Interval>) -> u64 {
        others.into_iter().map(|other| other.overlap(self)).sum()
    }

    /// How long it is.
    pub fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// What was found.
#[derive(Default)]
pub struct Findings {
    found: BTreeMap<Rule, (usize, Vec<Violation>)>,
    late: BTreeMap<Rule, Vec<Late>>,
    /// How many of them were removed because stalls explain them.
    excused: BTreeMap<Rule, usize>,
    stalls: Vec<Interval>,
}

/// A bound in time that was exceeded, unless stalls explain it.
struct Late {
    interval: Interval,
    bound: u64,
    violation: Violation,
}

impl Late {
    fn is_unexplained(&self, stalls: &[Interval]) -> bool {
        self.interval.length() > self.bound + self.interval.overlaps(stalls)
    }
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
        if interval.length() <= bound {
            return;
        }
        let late = self.late.entry(violation.rule).or_default();
        if late.len() >= KEPT_LATE {
            let before = late.len();
            late.retain(|one| one.is_unexplained(&self.stalls));
            *self.excused.entry(violation.rule).or_default() += before - late.len();
        }
        if late.len() < KEPT_LATE {
            late.push(Late { interval, bound, violation });
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

    /// How long the machine stood still in the interval, as far as is known.
    pub fn stalled(&self, interval: Interval) -> u64 {
        interval.overlaps(&self.stalls)
    }

    /// How many violations are no matter of time.
    pub fn certain(&self) -> usize {
        self.found.values().map(|(times, _)| times).sum()
    }

    /// How many exceeded bounds of each rule stalls explain.
    pub fn excused(&self) -> BTreeMap<Rule, usize> {
        let mut excused = self.excused.clone();
        for (rule, late) in &self.late {
            let explained = late.iter().filter(|one| !one.is_unexplained(&self.stalls)).count();
            *excused.entry(*rule).or_default() += explained;
        }
        excused.retain(|_, times| *times > 0);
        excused
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
            let unexplained = late.iter().filter(|one| one.is_unexplained(&self.stalls));
            for Late { interval, violation, .. } in unexplained.take(KEPT) {
                let mut violation = violation.clone();
                let took = Duration::from_nanos(interval.length());
                violation.text.push_str(&format!(" ({took:.3?})"));
                violation.is_of_time = true;
                all.push(violation);
            }
        }
        all
    }
}
