//! Checks the request windows of accounts whose limits the clients can reach. A window must not
//! admit more requests than the limit, nor refuse requests below the limit. Bans are tested
//! elsewhere: by `tests/limits` and by the scenario `limits::servers` of `cargo xtask faults`.
//!
//! The closing time identifies a minute window. The closing time is known only as a range, because
//! the headers are rounded. A recording is shorter than a day, so an account has only one daily
//! window.
//!
//! The order of overlapping requests is unknown. So a response is a violation only if it is wrong
//! in every possible order.

use super::findings::{Findings, Interval};
use crate::event::Answered;
use crate::violation::{Operation, Rule, Violation};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub const SECOND: i64 = 1_000_000_000;

const WINDOW_NANOS: i64 = 60 * SECOND;

/// Maximum error in the end of a window, as computed from a response. The server rounds
/// `X-RateLimit-Reset` up to whole seconds, and the `Date` header may be a second old.
const ROUNDING_NANOS: i64 = 2 * SECOND;

/// Maximum time until the counts are saved, once saving works again. The next write of the counts
/// begins within a second, and takes some time.
const SAVED_WITHIN_NANOS: u64 = 2 * SECOND.unsigned_abs();

/// The longest `Retry-After` of a minute window, plus a margin of 2 s. A longer `Retry-After` comes
/// from the daily limit.
const LONGEST_MINUTE_SECONDS: u64 = 62;

/// Clients cannot send more requests per minute, so accounts with a higher limit are not checked.
const MAX_REACHABLE_LIMIT: u32 = 100_000;

#[derive(Default)]
pub struct Windows {
    accounts: HashMap<String, Account>,
    keys: HashMap<String, String>,
    /// Requests that were sent before this time are not added to `admitted`, because a fault may
    /// lose their counts. `u64::MAX` while a fault may lose counts.
    trusted_from: u64,
    /// The time at which servers became unable to save counts. Has no meaning while servers can
    /// save counts.
    unsaved_from: u64,
    /// The time at which saving worked again; `u64::MAX` while it does not work.
    saved_from: u64,
}

#[derive(Default)]
struct Account {
    per_minute: u32,
    per_day: Option<u32>,
    /// For each request that the day window certainly counted, the time at which the client
    /// received the response.
    admitted: Vec<u64>,
    /// The number of requests that the day window has counted or may have counted so far.
    may_be_admitted: usize,
    windows: VecDeque<Window>,
    /// The requests of the last three minutes that a window has counted or may have counted.
    counted: VecDeque<Counted>,
}

struct Window {
    /// The earliest and latest time at which the window may close, in nanoseconds of the recording.
    closes: (i64, i64),
    admitted: Vec<Arc<Operation>>,
}

struct Counted {
    op: u64,
    interval: Interval,
}

impl Windows {
    pub fn add_key(&mut self, key: &str, account: &str, per_minute: u32, per_day: Option<u32>) {
        self.keys.insert(key.to_string(), account.to_string());
        let account = self.accounts.entry(account.to_string()).or_default();
        (account.per_minute, account.per_day) = (per_minute, per_day);
    }

    /// Records that servers save no counts from `at` on.
    pub fn stop_saving(&mut self, at: u64) {
        if self.are_saved(at) {
            self.unsaved_from = at;
        }
        self.saved_from = u64::MAX;
    }

    pub fn resume_saving(&mut self, at: u64) {
        self.saved_from = self.saved_from.min(at);
    }

    fn are_saved(&self, at: u64) -> bool {
        at >= self.saved_from.saturating_add(SAVED_WITHIN_NANOS)
    }

    /// Records a fault at `at`. The fault may lose the counts of these intervals:
    ///
    /// - the second before `at`
    /// - if counts are not being saved at `at`: from one second before saving stopped until `at`
    /// - from `at` until the time that [`Windows::trust_counts_from`] sets
    ///
    /// A request whose count may be lost is removed from the admitted requests. The request can
    /// still justify a refusal, because its count may have survived.
    pub fn distrust_counts(&mut self, at: u64) {
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

    /// Records that the counts of requests sent at `from` or later will not be lost.
    pub fn trust_counts_from(&mut self, from: u64) {
        self.trusted_from = self.trusted_from.min(from);
    }

    /// Records that a request is about to be sent. Until the request ends, a window may count the
    /// request at any time.
    pub fn record_request(&mut self, operation: &Operation) {
        let Some(account) = self.account_of(operation) else { return };
        let from = operation.begun;
        let oldest = from.saturating_sub((3 * WINDOW_NANOS).unsigned_abs());
        while account.counted.pop_front_if(|one| one.interval.to < oldest).is_some() {}
        let interval = Interval { from, to: u64::MAX };
        account.counted.push_back(Counted { op: operation.asked.op, interval });
        account.may_be_admitted += 1;
    }

    /// `status` is `None` if the answer was lost.
    pub fn check_answer(
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
        if let Some(counted) = account.counted.iter_mut().rev().find(|one| one.op == op) {
            counted.interval.to = operation.ended();
        }
        let Some(Answered { status, retry_after, closes_in, is_banned }) = status else { return };
        let closes = closes_in.map(|left| {
            let around = |at: u64| i64::try_from(at).unwrap_or(i64::MAX) + left * SECOND;
            (around(operation.begun) - ROUNDING_NANOS, around(operation.ended()) + ROUNDING_NANOS)
        });
        if is_admitted && is_trusted {
            account.check_admitted_by_day(operation, findings);
        }
        if let (true, Some(closes)) = (is_admitted && is_trusted, closes) {
            account.check_admitted(operation, closes, findings);
        }
        let waits = retry_after.unwrap_or_default();
        match status {
            429 if is_banned => {}
            429 if waits > LONGEST_MINUTE_SECONDS => {
                account.check_refused_by_day(operation, findings)
            }
            429 => account.check_refused(operation, closes, findings),
            _ => {}
        }
    }

    /// True if clients can reach the limit per minute of the request's account.
    pub fn has_limit(&mut self, operation: &Operation) -> bool {
        self.account_of(operation).is_some()
    }

    fn account_of(&mut self, operation: &Operation) -> Option<&mut Account> {
        let key = operation.asked.key.as_ref()?;
        let account = self.accounts.get_mut(self.keys.get(key)?);
        account.filter(|account| account.per_minute <= MAX_REACHABLE_LIMIT)
    }
}

impl Account {
    fn check_admitted_by_day(&mut self, operation: &Arc<Operation>, findings: &mut Findings) {
        let Some(limit) = self.per_day else { return };
        self.admitted.push(operation.ended());
        let admitted = self.admitted.len();
        if admitted > limit as usize {
            let text = format!("{admitted} requests in a day, the limit is {limit}");
            findings.add(Violation::new(Rule::AdmittedTooMany, text, &[operation]));
        }
    }

    /// Adds a violation if a request was refused although the daily limit cannot have been reached.
    fn check_refused_by_day(&self, operation: &Arc<Operation>, findings: &mut Findings) {
        let counted = self.may_be_admitted;
        if self.per_day.is_none_or(|limit| counted < limit as usize) {
            let text = format!("{counted} requests in a day at most, below the limit");
            findings.add(Violation::new(Rule::RefusedTooEarly, text, &[operation]));
        }
    }

    fn check_admitted(
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
            apart < WINDOW_NANOS
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

    /// Adds a violation if a request was refused although its minute window cannot have been full.
    fn check_refused(
        &self,
        operation: &Arc<Operation>,
        closes: Option<(i64, i64)>,
        findings: &mut Findings,
    ) {
        let opened = closes.map_or(0, |(closes, _)| closes - WINDOW_NANOS);
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
