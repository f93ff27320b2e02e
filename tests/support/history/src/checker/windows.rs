//! Request windows of accounts with a limit that can be reached: no window admits more, and none
//! refuses before. Bans are tested in `tests/limits`, and across servers in `limits::servers`.
//!
//! A minute is known by when it closes, as answers say: with two seconds of rounding, and the
//! time between request and answer. A recording is shorter than a day.
//!
//! The model of the limits in `tests/limits/model.rs` predicts each answer to requests that come one
//! after the other, at known times. Of requests that overlap no order is known: what is due to one
//! depends on which were counted before it, so only what no order explains is a violation here.

use super::findings::{Findings, Interval};
use crate::event::Answered;
use crate::violation::{Operation, Rule, Violation};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// In nanoseconds.
pub const SECOND: i64 = 1_000_000_000;

/// How long a window is open.
const WINDOW: i64 = 60 * SECOND;

/// `X-RateLimit-Reset` is rounded up to a second, and `Date` is a second old at most.
const ROUNDING: i64 = 2 * SECOND;

/// When counts can be saved again, they are within a second, and a write of theirs.
const SAVED_WITHIN: u64 = 2 * SECOND.unsigned_abs();

/// A refusal that tells to wait for longer is not of a minute's window.
const LONGEST_MINUTE_SECONDS: u64 = 62;

/// Limits above this are never reached; requests under them are not remembered.
const UNREACHED: u32 = 100_000;

/// The accounts of a recording.
#[derive(Default)]
pub struct Windows {
    accounts: HashMap<String, Account>,
    /// The account of each key.
    keys: HashMap<String, String>,
    /// Requests that were sent before then may not be in the counts.
    trusted_from: u64,
    /// Since when counts could not be saved, if they have not been since.
    unsaved_from: u64,
    /// Since when they can be saved; `u64::MAX` while they cannot.
    saved_from: u64,
}

#[derive(Default)]
struct Account {
    per_minute: u32,
    per_day: Option<u32>,
    /// When the requests were answered that were counted in the day's window.
    admitted: Vec<u64>,
    /// How many may have been.
    may_be_admitted: usize,
    windows: VecDeque<Window>,
    /// Requests of the last minutes that were counted, or may have been.
    counted: VecDeque<Counted>,
}

struct Window {
    /// When it closes: between these.
    closes: (i64, i64),
    admitted: Vec<Arc<Operation>>,
}

struct Counted {
    op: u64,
    interval: Interval,
}

impl Windows {
    /// A key, and the limit of its account.
    pub fn key(&mut self, key: &str, account: &str, per_minute: u32, per_day: Option<u32>) {
        self.keys.insert(key.to_string(), account.to_string());
        let account = self.accounts.entry(account.to_string()).or_default();
        (account.per_minute, account.per_day) = (per_minute, per_day);
    }

    /// From now on no counts can be saved.
    pub fn unsaved(&mut self, at: u64) {
        if self.are_saved(at) {
            self.unsaved_from = at;
        }
        self.saved_from = u64::MAX;
    }

    /// They can be saved again.
    pub fn saved(&mut self, at: u64) {
        self.saved_from = self.saved_from.min(at);
    }

    fn are_saved(&self, at: u64) -> bool {
        at >= self.saved_from.saturating_add(SAVED_WITHIN)
    }

    /// From now on counts may be lost, and those of the second before, or of the second before they
    /// could not be saved. What was refused must have been counted all the same.
    pub fn doubt(&mut self, at: u64) {
        self.trusted_from = u64::MAX;
        let saved = if self.are_saved(at) { at } else { self.unsaved_from };
        let last = saved.saturating_sub(SECOND.unsigned_abs());
        for account in self.accounts.values_mut() {
            for window in &mut account.windows {
                window.admitted.retain(|operation| operation.ended() <= last);
            }
            account.windows.retain(|window| !window.admitted.is_empty());
            account.admitted.retain(|ended| *ended <= last);
        }
    }

    /// No counts of requests are lost that are sent from then on.
    pub fn trust(&mut self, from: u64) {
        self.trusted_from = self.trusted_from.min(from);
    }

    /// A request is about to be sent: from now on it may be counted.
    pub fn asked(&mut self, operation: &Operation) {
        let Some(account) = self.account_of(operation) else { return };
        let from = operation.begun;
        let oldest = from.saturating_sub((3 * WINDOW).unsigned_abs());
        while account.counted.pop_front_if(|one| one.interval.to < oldest).is_some() {}
        let interval = Interval { from, to: u64::MAX };
        account.counted.push_back(Counted { op: operation.asked.op, interval });
        account.may_be_admitted += 1;
    }

    /// It was answered; `None` if it has no status.
    pub fn answered(
        &mut self,
        operation: &Arc<Operation>,
        status: Option<Answered>,
        findings: &mut Findings,
    ) {
        let is_trusted = operation.begun >= self.trusted_from;
        let Some(account) = self.account_of(operation) else { return };
        let is_admitted = status.is_some_and(|status| !matches!(status.status, 401 | 429 | 503));
        let is_uncounted = status.is_some_and(|status| matches!(status.status, 401 | 429));
        let op = operation.asked.op;
        if is_uncounted {
            account.counted.retain(|one| one.op != op);
            account.may_be_admitted -= 1;
        }
        if let Some(own) = account.counted.iter_mut().rev().find(|one| one.op == op) {
            own.interval.to = operation.ended();
        }
        let Some(Answered { status, retry_after, closes_in, is_banned }) = status else { return };
        let closes = closes_in.map(|left| {
            let around = |at: u64| i64::try_from(at).unwrap_or(i64::MAX) + left * SECOND;
            (around(operation.begun) - ROUNDING, around(operation.ended()) + ROUNDING)
        });
        if is_admitted && is_trusted {
            account.admitted_at_all(operation, findings);
        }
        if let (true, Some(closes)) = (is_admitted && is_trusted, closes) {
            account.admitted(operation, closes, findings);
        }
        let waits = retry_after.unwrap_or_default();
        match status {
            429 if is_banned => {}
            429 if waits > LONGEST_MINUTE_SECONDS => account.refused_for_a_day(operation, findings),
            429 => account.refused(operation, closes, findings),
            _ => {}
        }
    }

    /// Whether the account of the request has a limit that can be reached.
    pub fn has_limit(&mut self, operation: &Operation) -> bool {
        self.account_of(operation).is_some()
    }

    fn account_of(&mut self, operation: &Operation) -> Option<&mut Account> {
        let key = operation.asked.key.as_ref()?;
        let account = self.accounts.get_mut(self.keys.get(key)?);
        account.filter(|account| account.per_minute <= UNREACHED)
    }
}

impl Account {
    fn admitted_at_all(&mut self, operation: &Arc<Operation>, findings: &mut Findings) {
        let Some(limit) = self.per_day else { return };
        self.admitted.push(operation.ended());
        let admitted = self.admitted.len();
        if admitted > limit as usize {
            let text = format!("{admitted} requests in a day, the limit is {limit}");
            findings.add(Violation::new(Rule::AdmittedTooMany, text, &[operation]));
        }
    }

    /// As many as the limit must have been counted in the day.
    fn refused_for_a_day(&self, operation: &Arc<Operation>, findings: &mut Findings) {
        let counted = self.may_be_admitted;
        if self.per_day.is_none_or(|limit| counted < limit as usize) {
            let text = format!("{counted} requests in a day at most, below the limit");
            findings.add(Violation::new(Rule::RefusedTooEarly, text, &[operation]));
        }
    }

    fn admitted(
        &mut self,
        operation: &Arc<Operation>,
        closes: (i64, i64),
        findings: &mut Findings,
    ) {
        let is_same =
            |window: &&mut Window| window.closes.0 <= closes.1 && closes.0 <= window.closes.1;
        if let Some(window) = self.windows.iter_mut().rev().find(is_same) {
            window.closes = (window.closes.0.max(closes.0), window.closes.1.min(closes.1));
            window.admitted.push(Arc::clone(operation));
            let admitted = window.admitted.len();
            if admitted > self.per_minute as usize {
                let text = format!("{admitted} requests, the limit is {}", self.per_minute);
                let ends = [window.admitted.first(), window.admitted.last()];
                let because: Vec<&Arc<Operation>> = ends.into_iter().flatten().collect();
                findings.add(Violation::new(Rule::AdmittedTooMany, text, &because));
            }
            return;
        }
        let overlaps = |window: &&Window| {
            let apart = (closes.1 - window.closes.0).max(window.closes.1 - closes.0);
            apart < WINDOW
        };
        if let Some(other) = self.windows.iter().find(overlaps) {
            let text = "a second window was opened while the first was open".to_string();
            let because: Vec<&Arc<Operation>> =
                other.admitted.last().into_iter().chain([operation]).collect();
            findings.add(Violation::new(Rule::AdmittedTooMany, text, &because));
        }
        let window = Window { closes, admitted: vec![Arc::clone(operation)] };
        self.windows.push_back(window);
        if self.windows.len() > 4 {
            self.windows.pop_front();
        }
    }

    /// As many as the limit must have been counted in the window that is said to be full.
    fn refused(
        &self,
        operation: &Arc<Operation>,
        closes: Option<(i64, i64)>,
        findings: &mut Findings,
    ) {
        let opened = closes.map_or(0, |(closes, _)| closes - WINDOW);
        let opened = u64::try_from(opened).unwrap_or(0);
        let can_be =
            |one: &&Counted| one.interval.to >= opened && one.interval.from < operation.ended();
        let counted = self.counted.iter().filter(can_be).count();
        if counted < self.per_minute as usize {
            let text = format!("{counted} requests at most, the limit is {}", self.per_minute);
            findings.add(Violation::new(Rule::RefusedTooEarly, text, &[operation]));
        }
    }
}
