//! Collects the violations, and keeps the first few of each rule.
//!
//! A stall of the machine may explain an exceeded time limit. But a stall is recorded only at its
//! end. So exceeded time limits are kept and compared with the stalls later.

use crate::violation::{Rule, Violation};
use std::collections::BTreeMap;
use std::time::Duration;

/// Per rule, the report shows at most this many proven violations, and at most this many exceeded
/// time limits.
const MAX_KEPT: usize = 3;

/// The maximum number of exceeded time limits that are kept per rule. At the maximum, the checker
/// removes entries that stalls explain. If stalls explain none, the checker drops the new entry.
const MAX_KEPT_LATE: usize = 1_000;

/// A server refuses requests if it has not read the store for this many nanoseconds.
const STALE_AFTER_NANOS: u64 = 1_000_000_000;

/// Stalls of the machine of at least this total length excuse a refusal. Stalls up to 1 s before
/// the refusal count too.
const EXCUSING_STALL_NANOS: u64 = 200_000_000;

/// An interval of the recording, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub from: u64,
    pub to: u64,
}

impl Interval {
    pub fn overlap(self, other: Interval) -> u64 {
        self.to.min(other.to).saturating_sub(self.from.max(other.from))
    }

    /// Adds up the overlaps. Counts a time twice if two of the intervals contain it.
    pub fn overlaps<'a>(self, others: impl IntoIterator<Item = &'a Interval>) -> u64 {
        others.into_iter().map(|other| other.overlap(self)).sum()
    }

    pub fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

#[derive(Default)]
pub struct Findings {
    found: BTreeMap<Rule, (usize, Vec<Violation>)>,
    late: BTreeMap<Rule, Vec<Late>>,
    /// For each rule, the number of entries that were removed from `late` because stalls explain
    /// them.
    excused: BTreeMap<Rule, usize>,
    stalls: Vec<Interval>,
}

/// An exceeded time limit. Stalls of the machine may explain it.
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
    pub fn add(&mut self, violation: Violation) {
        let (times, first) = self.found.entry(violation.rule).or_default();
        *times += 1;
        if first.len() < MAX_KEPT {
            first.push(violation);
        }
    }

    /// Adds a violation if the interval is longer than `bound`. Time in which the machine stalled
    /// does not count.
    pub fn add_if_longer(&mut self, interval: Interval, bound: Duration, violation: Violation) {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        if interval.length() <= bound {
            return;
        }
        let late = self.late.entry(violation.rule).or_default();
        if late.len() >= MAX_KEPT_LATE {
            let before = late.len();
            late.retain(|one| one.is_unexplained(&self.stalls));
            *self.excused.entry(violation.rule).or_default() += before - late.len();
        }
        if late.len() < MAX_KEPT_LATE {
            late.push(Late { interval, bound, violation });
        }
    }

    /// Adds a violation for a request that the server refused in `interval`, unless stalls of the
    /// machine may explain the refusal. A server refuses requests if it has not read the store for
    /// a second. So stalls in the second before `interval` count too.
    pub fn add_unless_stalled(&mut self, interval: Interval, violation: Violation) {
        let from = interval.from.saturating_sub(STALE_AFTER_NANOS);
        let bound = (interval.to - from).saturating_sub(EXCUSING_STALL_NANOS);
        let since = Interval { from, to: interval.to };
        self.add_if_longer(since, Duration::from_nanos(bound), violation);
    }

    pub fn record_stall(&mut self, from: u64, to: u64) {
        self.stalls.push(Interval { from, to });
    }

    /// Returns how many nanoseconds of the interval recorded stalls cover.
    pub fn stalled_time(&self, interval: Interval) -> u64 {
        interval.overlaps(&self.stalls)
    }

    /// Returns the number of violations. Does not count exceeded time limits and unexpected 503s,
    /// because a stall may explain them.
    pub fn certain(&self) -> usize {
        self.found.values().map(|(times, _)| times).sum()
    }

    /// Counts, for each rule, the violations that stalls of the machine excuse.
    pub fn excused(&self) -> BTreeMap<Rule, usize> {
        let mut excused = self.excused.clone();
        for (rule, late) in &self.late {
            let explained = late.iter().filter(|one| !one.is_unexplained(&self.stalls)).count();
            *excused.entry(*rule).or_default() += explained;
        }
        excused.retain(|_, times| *times > 0);
        excused
    }

    /// Returns at most [`MAX_KEPT`] proven violations and [`MAX_KEPT`] exceeded time limits per
    /// rule. Omits exceeded time limits that recorded stalls explain.
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
            for Late { interval, violation, .. } in unexplained.take(MAX_KEPT) {
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
