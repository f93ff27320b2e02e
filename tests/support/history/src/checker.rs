//! Checks each event against the rules when the event arrives. Keeps only the last list of each
//! client, to limit the memory use.

mod faults;
mod findings;
mod keys;
mod lists;
mod orders;
mod recovery;
mod table;
mod windows;

use crate::answer_times::{ANSWER_LIMIT, GIVES_UP_AFTER};
use crate::event::{Answer, Answered, Asked, Event, Request, What};
use crate::violation::{Operation, Rule, Violation};
use faults::Faults;
use findings::{Findings, Interval};
use keys::Keys;
use orders::Orders;
use recovery::Recovery;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use windows::{SECOND, Windows};

#[derive(Default)]
pub struct Checker {
    open: HashMap<u64, Operation>,
    orders: Orders,
    keys: Keys,
    windows: Windows,
    faults: Faults,
    recovery: Recovery,
    findings: Findings,
    may_be_unavailable: bool,
    /// The time at which syncs of the disk stopped working; `None` while they work.
    unsynced_since: Option<u64>,
}

impl Checker {
    /// Checks the next event. Events must arrive in the order of their times.
    pub fn take(&mut self, event: Event) {
        let Event { at, what } = event;
        let findings = &mut self.findings;
        match what {
            What::Begins(beginning) => {
                self.may_be_unavailable = beginning.may_be_unavailable;
                self.recovery.set_servers(beginning.servers);
                self.orders.begin(&beginning.pending, &beginning.shipped);
            }
            What::Asks(asked) => self.record_request(at, asked),
            What::Gets { op, answer } => self.record_answer(at, op, answer),
            What::Key { key, account, per_minute, per_day } => {
                self.windows.add_key(&key, &account, per_minute, per_day);
                self.keys.add(key, at);
            }
            What::Fault(fault) => {
                self.recovery.begin_fault(&fault.name, findings);
                if fault.saves_no_counts {
                    self.windows.stop_saving(at);
                }
                if fault.may_lose_counts {
                    self.windows.distrust_counts(at);
                }
                self.faults.begin(at, fault);
            }
            What::Promoted => {
                self.windows.trust_counts_from(at.saturating_add(SECOND.unsigned_abs()))
            }
            What::Unsynced => self.unsynced_since = Some(at),
            What::Synced => self.unsynced_since = None,
            What::Undone => {
                self.windows.resume_saving(at);
                self.faults.end_last(at);
                self.recovery.record_undone(at);
            }
            What::Ready { server } => self.recovery.record_ready(at, server, findings),
            What::Compared { digests } => {
                self.windows.trust_counts_from(at);
                self.recovery.record_comparison(at, &digests, findings);
            }
            What::Stall { nanos } => findings.record_stall(at.saturating_sub(nanos), at),
            What::Ends(table) => {
                self.recovery.close(findings);
                self.orders.check_table(&table, findings);
            }
        }
    }

    /// Returns the first few violations of each rule. Omits exceeded time limits and unexpected
    /// 503s that recorded stalls explain.
    pub fn violations(&self) -> Vec<Violation> {
        self.findings.violations()
    }

    /// Counts, for each rule, the violations that stalls of the machine explain. Stalls explain
    /// only exceeded time limits and unexpected 503s.
    pub fn excused(&self) -> BTreeMap<Rule, usize> {
        self.findings.excused()
    }

    /// Returns the number of violations. Does not count exceeded time limits and unexpected 503s,
    /// because stalls may explain them.
    pub fn certain(&self) -> usize {
        self.findings.certain()
    }

    fn record_request(&mut self, at: u64, asked: Asked) {
        let operation = Operation { asked, begun: at, answered: None };
        self.orders.record_request(&operation);
        self.windows.record_request(&operation);
        if let Request::Revoke(key) = &operation.asked.request {
            self.keys.record_revocation_start(key, at);
        }
        self.open.insert(operation.asked.op, operation);
    }

    fn record_answer(&mut self, at: u64, op: u64, answer: Answer) {
        let Some(mut operation) = self.open.remove(&op) else { return };
        operation.answered = Some((at, summarize(&answer)));
        let operation = Arc::new(operation);
        self.check_delivery(&operation, &answer);
        let findings = &mut self.findings;
        let status = match &answer {
            Answer::List(_) | Answer::Page { .. } | Answer::Malformed(_) => {
                Some(Answered { status: 200, ..Default::default() })
            }
            Answer::Status(answered) => Some(*answered),
            Answer::Lost(_) | Answer::Done | Answer::Failed(_) => None,
        };
        if !self.keys.may_be_revoked(&operation) {
            self.windows.check_answer(&operation, status, findings);
        }
        if let Some(Answered { status, .. }) = status {
            let has_limit = self.windows.has_limit(&operation);
            self.keys.check_answer(&operation, status, has_limit, findings);
            self.recovery.record_answer(&operation, status, findings);
        }
        match (&operation.asked.request, answer) {
            (Request::List, Answer::List(ids)) => {
                self.orders.check_list(&operation, ids, &self.faults, findings);
            }
            (Request::Page(page), Answer::Page { ids, is_last }) => {
                self.orders.check_page(&operation, page, &ids, is_last, findings);
            }
            (Request::List | Request::Page(_), Answer::Malformed(text)) => {
                findings.add(Violation::new(Rule::IncompleteList, text, &[&operation]));
            }
            (
                Request::Cancel(id),
                Answer::Lost(_) | Answer::Status(Answered { status: 503, .. }),
            ) => self.orders.add_unresolved(*id, &operation),
            (Request::Cancel(id), Answer::Status(Answered { status, .. })) => {
                if status == 204 && self.unsynced_since.is_some_and(|since| operation.begun > since)
                {
                    let text = format!("order {id}");
                    findings.add(Violation::new(Rule::AcknowledgedUnsynced, text, &[&operation]));
                }
                self.orders.check_cancellation(*id, status, &operation, findings);
            }
            (
                Request::List | Request::Page(_),
                Answer::Status(Answered { status: 401 | 429 | 503, .. }),
            )
            | (Request::Pet, Answer::Status(Answered { status: 200 | 401 | 429 | 503, .. }))
            | (Request::List | Request::Page(_) | Request::Pet, Answer::Lost(_)) => {}
            (Request::Import(first, last), Answer::Done) => {
                self.orders.record_import(*first, *last, at)
            }
            (Request::Ship(ids), Answer::Done) => {
                self.orders.record_shipment(ids, &operation, findings)
            }
            (Request::Revoke(key), Answer::Done) => self.keys.record_revocation(key, &operation),
            (Request::Import(..) | Request::Ship(_) | Request::Revoke(_), _) => {}
            _ => {
                let text = "this request cannot have this answer".to_string();
                findings.add(Violation::new(Rule::ImpossibleAnswer, text, &[&operation]));
            }
        }
    }

    /// Checks that a server responded in time, and that a 503 is permitted and has `Retry-After`.
    /// Skips operators' commands, which no server answers.
    fn check_delivery(&mut self, operation: &Arc<Operation>, answer: &Answer) {
        let Some(server) = &operation.asked.server else { return };
        let interval = Interval { from: operation.begun, to: operation.ended() };
        let findings = &mut self.findings;
        if let Answer::Status(Answered { status: 503, retry_after, .. }) = answer {
            if retry_after.is_none() {
                let text = "Retry-After is missing".to_string();
                findings.add(Violation::new(Rule::NoRetryAfter, text, &[operation]));
            }
            if !self.may_be_unavailable {
                let text = "503 although nothing failed".to_string();
                let violation = Violation::new(Rule::ImpossibleAnswer, text, &[operation]);
                findings.add_unless_stalled(interval, violation);
            }
        }
        let excused = self.faults.excuse(server, interval);
        let gave_up = u128::from(interval.length()) >= GIVES_UP_AFTER.as_nanos();
        match answer {
            // Excuse the lost response even if the client timed out. When a fault closes a
            // connection, hyper can lose a request without an error (api/UPSTREAM.md). The client
            // then waits until its timeout.
            Answer::Lost(_) if excused.is_some_and(|excuse| excuse.loses_answers) => {}
            Answer::Lost(why) if !gave_up => {
                let text = format!("{server} was running and reachable: {why}");
                findings.add(Violation::new(Rule::NoAnswer, text, &[operation]));
            }
            _ => {
                let text = format!("more than {ANSWER_LIMIT:?} without a fault");
                let violation = Violation::new(Rule::LateAnswer, text, &[operation]);
                let delay = excused.map_or(Duration::ZERO, |excuse| excuse.lasted);
                let limit = ANSWER_LIMIT.saturating_add(delay);
                findings.add_if_longer(interval, limit, violation);
            }
        }
    }
}

fn summarize(answer: &Answer) -> String {
    match answer {
        Answer::List(ids) => format!("200, {} orders", ids.len()),
        Answer::Page { ids, is_last: false } => format!("200, a page of {} orders", ids.len()),
        Answer::Page { ids, is_last: true } => format!("200, the last page, {} orders", ids.len()),
        Answer::Status(Answered { status, closes_in: Some(left), .. }) => {
            format!("{status}, the window closes in {left} s")
        }
        Answer::Status(Answered { status, .. }) => status.to_string(),
        Answer::Malformed(text) => format!("200: {text}"),
        Answer::Lost(why) => format!("no answer: {why}"),
        Answer::Done => "done".to_string(),
        Answer::Failed(why) => format!("failed: {why}"),
    }
}
