//! Request windows of accounts with a limit that can be reached: none admits more, and none
//! refuses before.
//!
//! A window is known by when it closes, as answers say: with two seconds of rounding, and the
//! time between request and answer.

use super::findings::{Findings, Interval};
use crate::event::Answered;
use crate::violation::{Operation, Rule, Violation};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

const SECOND: i64 = 1_000_000_000;

/// How long a window is open.
const WINDOW: i64 = 60 * SECOND;

/// `X-RateLimit-Reset` is rounded up to a second, and `Date` is a second old at most.
const ROUNDING: i64 = 2 * SECOND;

/// Limits above this are never reached; requests under them are not remembered.
const UNREACHED: u32 = 100_000;

/// The accounts of a recording.
#[derive(Default)]
pub struct Windows {
    accounts: HashMap<String, Account>,
    /// The account of each key.
    keys: HashMap<String, String>,
}

#[derive(Default)]
struct Account {
    per_minute: u32,
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
    pub fn key(&mut self, key: &str, account: &str, per_minute: u32) {
        self.keys.insert(key.to_string(), account.to_string());
        self.accounts.entry(account.to_string()).or_default().per_minute = per_minute;
    }

    /// The counts were lost: windows begin anew.
    pub fn forget(&mut self) {
        for account in self.accounts.values_mut() {
            account.windows.clear();
        }
    }

    /// A request is about to be sent: from now on it may be counted.
    pub fn asked(&mut self, operation: &Operation) {
        let Some(account) = self.account_of(operation) else { return };
        let from = operation.begun;
        let oldest = from.saturating_sub((3 * WINDOW).unsigned_abs());
        while account.counted.pop_front_if(|one| one.interval.to < oldest).is_some() {}
        let interval = Interval { from, to: u64::MAX };
        account.counted.push_back(Counted { op: operation.asked.op, interval });
    }

    /// It was answered; `None` if it has no status.
    pub fn answered(
        &mut self,
        operation: &Arc<Operation>,
        status: Option<Answered>,
        findings: &mut Findings,
    ) {
        let Some(account) = self.account_of(operation) else { return };
        let is_admitted = status.is_some_and(|status| !matches!(status.status, 401 | 429 | 503));
        let is_uncounted = status.is_some_and(|status| matches!(status.status, 401 | 429));
        if is_uncounted {
            account.counted.retain(|one| one.op != operation.asked.op);
        }
        let own = account.counted.iter_mut().rev().find(|one| one.op == operation.asked.op);
        if let Some(own) = own {
            own.interval.to = operation.ended();
        }
        let Some(Answered { status, closes_in, .. }) = status else { return };
        let closes = closes_in.map(|left| {
            let around = |at: u64| i64::try_from(at).unwrap_or(i64::MAX) + left * SECOND;
            (around(operation.begun) - ROUNDING, around(operation.ended()) + ROUNDING)
        });
        if let (true, Some(closes)) = (is_admitted, closes) {
            account.admitted(operation, closes, findings);
        }
        if status == 429 {
            account.refused(operation, closes, findings);
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
