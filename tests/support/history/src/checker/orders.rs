//! Records what the checker knows about each order. Checks that the responses to cancellations
//! agree with this knowledge.

use super::faults::Faults;
use super::findings::{Findings, Interval};
use crate::answer_times::ANSWER_LIMIT;
use crate::event::Request;
use crate::violation::{Operation, Rule, Violation};
use crate::{IdSet, event};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time from the start of a cancellation to its execution, without faults and stalls. The
/// added second allows for inexact times of events.
const MAX_EXECUTION_TIME: Duration = ANSWER_LIMIT.saturating_add(Duration::from_secs(1));

pub const NEVER: u64 = u64::MAX;

#[derive(Default)]
pub struct Orders {
    pub(super) orders: Vec<Order>,
    /// Every order that existed at the beginning or belongs to an import that has begun.
    pub(super) known: IdSet,
    /// The orders that lists must show, as far as the checker knows.
    pub(super) live: IdSet,
    /// The orders that lists must no longer show, as far as the checker knows.
    pub(super) gone: IdSet,
    /// The first and last order id of each import that is not known to have succeeded.
    pub(super) imports: Vec<(usize, usize)>,
    /// Cancellations whose outcome is unknown, with the ids of their orders.
    unresolved: Vec<(usize, Arc<Operation>)>,
    pub(super) last_lists: HashMap<String, (Arc<Operation>, IdSet)>,
}

#[derive(Clone, Debug)]
pub struct Order {
    /// The earliest time at which the order was certainly in the store; [`NEVER`] if none is known.
    pub known_from: u64,
    pub changes: Vec<Change>,
    /// The first cancellation that was answered 204.
    pub cancelled: Option<Arc<Operation>>,
    /// The earliest time at which the order is known to be shipped, or [`NEVER`]. A shipped order
    /// stays in the lists.
    pub shipped_from: u64,
    /// The operation that first proved that the order had shipped. `None` if the order had shipped
    /// at the beginning, or is not known to have shipped.
    pub shipped: Option<Arc<Operation>>,
    /// The operation that first proved that lists no longer show the order.
    pub gone: Option<Arc<Operation>>,
    /// True if a violation already reports that the order was gone without a request that can have
    /// removed it.
    pub is_reported: bool,
}

/// An operation that may have changed an order: a cancellation, or a command that ships the order.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    op: u64,
    pub begun: u64,
    /// True for a command that ships the order, false for a cancellation.
    pub ships: bool,
}

impl Order {
    fn known_from(known_from: u64) -> Order {
        Order {
            known_from,
            changes: Vec::new(),
            cancelled: None,
            shipped_from: NEVER,
            shipped: None,
            gone: None,
            is_reported: false,
        }
    }

    /// True if a cancellation that began earlier than `before` may have removed the order.
    pub fn may_be_gone(&self, before: u64) -> bool {
        self.may_be_changed(false, before)
    }

    /// True if the order is known to have shipped, or if a command that began before `before` may
    /// have shipped it.
    pub fn may_be_shipped(&self, before: u64) -> bool {
        self.shipped_from != NEVER || self.may_be_changed(true, before)
    }

    /// True if an operation that began before `before` may have shipped the order (if `ships`) or
    /// cancelled it (otherwise).
    fn may_be_changed(&self, ships: bool, before: u64) -> bool {
        self.changes.iter().any(|one| one.ships == ships && one.begun < before)
    }

    fn mark_shipped(&mut self, by: &Arc<Operation>) {
        if by.ended() < self.shipped_from {
            (self.shipped_from, self.shipped) = (by.ended(), Some(Arc::clone(by)));
        }
    }
}

impl Orders {
    /// Adds the orders that the store has when the recording begins.
    pub fn begin(&mut self, pending: &IdSet, shipped: &IdSet) {
        for id in pending.iter().chain(shipped.iter()) {
            self.add(id, 0);
            self.live.insert(id);
        }
        for id in shipped.iter() {
            if let Some(order) = self.orders.get_mut(id) {
                order.shipped_from = 0;
            }
        }
    }

    fn add(&mut self, id: usize, known_from: u64) {
        if self.orders.len() <= id {
            self.orders.resize(id + 1, Order::known_from(NEVER));
        }
        if let Some(order) = self.orders.get_mut(id) {
            order.known_from = order.known_from.min(known_from);
        }
        self.known.insert(id);
    }

    /// Records the start of a request or command, which may change or import orders from then on.
    pub fn record_request(&mut self, operation: &Operation) {
        let (op, begun) = (operation.asked.op, operation.begun);
        match &operation.asked.request {
            Request::Cancel(id) => self.may_change(*id, Change { op, begun, ships: false }),
            Request::Ship(ids) => {
                ids.iter().for_each(|id| self.may_change(*id, Change { op, begun, ships: true }));
            }
            Request::Import(first, last) => {
                (*first..=*last).for_each(|id| self.add(id, NEVER));
                self.imports.retain(|one| *one != (*first, *last));
                self.imports.push((*first, *last));
            }
            Request::List | Request::Page(_) | Request::Pet | Request::Revoke(_) => {}
        }
    }

    fn may_change(&mut self, id: usize, change: Change) {
        if self.known.contains(id)
            && let Some(order) = self.orders.get_mut(id)
        {
            order.changes.push(change);
        }
    }

    /// Records an import that succeeded by `at`. Lists after `at` must show its orders, except
    /// those in `gone`.
    pub fn record_import(&mut self, first: usize, last: usize, at: u64) {
        self.imports.retain(|one| *one != (first, last));
        for id in first..=last {
            self.add(id, at);
            if !self.gone.contains(id) {
                self.live.insert(id);
            }
        }
    }

    /// Records that the command `by` shipped the orders `ids`. Adds a violation for each order
    /// whose cancellation got a 204.
    pub fn record_shipment(&mut self, ids: &[usize], by: &Arc<Operation>, findings: &mut Findings) {
        for id in ids {
            let Some(order) = self.orders.get_mut(*id) else { continue };
            if let Some(cancelled) = &order.cancelled {
                let text = format!("order {id} was cancelled and shipped");
                let because = [cancelled, by];
                findings.add(Violation::new(Rule::ImpossibleAnswer, text, &because));
            }
            order.mark_shipped(by);
        }
    }

    /// Records a cancellation whose outcome is unknown, because its response was lost or was a 503.
    pub fn add_unresolved(&mut self, id: usize, by: &Arc<Operation>) {
        if self.known.contains(id) {
            self.unresolved.push((id, Arc::clone(by)));
        }
    }

    /// Decides which cancellations with an unknown outcome never executed. Without faults and
    /// stalls, a cancellation executes within [`MAX_EXECUTION_TIME`] or never. `shown` is a list
    /// that was requested at `begun`. If `shown` still has the order after this maximum, the
    /// cancellation never executed.
    pub(super) fn resolve(
        &mut self,
        begun: u64,
        shown: &IdSet,
        faults: &Faults,
        findings: &mut Findings,
    ) {
        let has_passed = |by: &Operation| {
            let since = Interval { from: by.begun, to: begun };
            let worked =
                faults.time_without_faults(since).saturating_sub(findings.stalled_time(since));
            u128::from(worked) > MAX_EXECUTION_TIME.as_nanos()
        };
        let (passed, unresolved) = std::mem::take(&mut self.unresolved)
            .into_iter()
            .partition(|(_, by): &(usize, Arc<Operation>)| has_passed(by));
        self.unresolved = unresolved;
        for (id, by) in passed {
            let is_gone = self.orders.get(id).is_none_or(|order| order.gone.is_some());
            if shown.contains(id) && !is_gone {
                self.did_not_change(id, &by, findings);
            }
        }
    }

    /// Records that the order was gone when the operation `by` ended. Lists that are requested
    /// later must not show the order.
    pub(super) fn mark_gone(&mut self, id: usize, by: &Arc<Operation>) {
        let Some(order) = self.orders.get_mut(id) else { return };
        if order.gone.as_ref().is_none_or(|gone| by.ended() < gone.ended()) {
            order.gone = Some(Arc::clone(by));
        }
        self.live.remove(id);
        self.gone.insert(id);
    }

    pub fn check_cancellation(
        &mut self,
        id: usize,
        status: u16,
        by: &Arc<Operation>,
        findings: &mut Findings,
    ) {
        let mut impossible = |text: &str, because: &[&Arc<Operation>]| {
            let text = format!("{text}: order {id}");
            findings.add(Violation::new(Rule::ImpossibleAnswer, text, because));
        };
        let order = self.orders.get_mut(id).filter(|_| self.known.contains(id));
        match (status, order) {
            (204 | 409, None) => impossible("an unknown order is not answered 404", &[by]),
            (404 | 401 | 429, None) => {}
            (204, Some(order)) => {
                if order.shipped_from < by.begun {
                    let because: Vec<&Arc<Operation>> = order.shipped.iter().chain([by]).collect();
                    let text = format!("order {id} had shipped, and is cancelled");
                    findings.add(Violation::new(Rule::CameBack, text, &because));
                } else if let Some(first) = &order.cancelled {
                    let text = format!("order {id}");
                    let because = [first, by];
                    findings.add(Violation::new(Rule::CancelledTwice, text, &because));
                } else if let Some(gone) =
                    order.gone.as_ref().filter(|gone| gone.ended() < by.begun)
                {
                    let text = format!("order {id} was gone, and is cancelled");
                    findings.add(Violation::new(Rule::CameBack, text, &[gone, by]));
                }
                order.cancelled.get_or_insert_with(|| Arc::clone(by));
                order.known_from = order.known_from.min(by.ended());
                self.mark_gone(id, by);
            }
            (404, Some(order)) => {
                let is_shipped = order.shipped_from < by.begun;
                let can_be_absent = order.known_from >= by.begun;
                self.did_not_change(id, by, findings);
                let Some(order) = self.orders.get(id) else { return };
                let text = match order.may_be_changed(false, by.ended()) {
                    _ if can_be_absent => return,
                    _ if is_shipped => "a shipped order is not answered 409",
                    false => "a pending order is answered 404",
                    true => return self.mark_gone(id, by),
                };
                let text = format!("{text}: order {id}");
                findings.add(Violation::new(Rule::ImpossibleAnswer, text, &[by]));
            }
            (409, Some(order)) => {
                if !order.may_be_changed(true, by.ended()) && order.shipped_from >= by.ended() {
                    impossible("a pending order is answered 409", &[by]);
                    return self.did_not_change(id, by, findings);
                }
                order.mark_shipped(by);
                self.did_not_change(id, by, findings);
            }
            (401 | 429, Some(_)) => self.did_not_change(id, by, findings),
            _ => impossible("a cancellation cannot have this answer", &[by]),
        }
    }

    /// Records that `by` did not change the order. Adds a violation if the order was gone although
    /// no other request can have removed it.
    fn did_not_change(&mut self, id: usize, by: &Arc<Operation>, findings: &mut Findings) {
        let Some(order) = self.orders.get_mut(id) else { return };
        order.changes.retain(|one| one.op != by.asked.op);
        let Some(gone) = &order.gone else { return };
        if order.may_be_gone(gone.ended()) || order.is_reported {
            return;
        }
        order.is_reported = true;
        let (rule, text) = match gone.asked.request {
            event::Request::List | event::Request::Page(_) => {
                (Rule::IncompleteList, "no request can have cancelled order")
            }
            _ => (Rule::ImpossibleAnswer, "a pending order is answered 404: order"),
        };
        let because = [gone, by];
        findings.add(Violation::new(rule, format!("{text} {id}"), &because));
    }
}
