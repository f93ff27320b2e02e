//! The rules that every history must keep.

use crate::{Cancel, FinalTable, History, IdSet, List};

impl Cancel {
    /// Whether it cancelled the order or, unanswered, may have.
    fn is_possible(&self) -> bool {
        self.answer.is_none_or(|(_, status)| status == 204)
    }
}

/// What the cancels of one order came to.
#[derive(Clone, Copy, Debug)]
struct OrderCancels {
    /// When the first 204 had come.
    acknowledged: u64,
    /// When the first cancel began that may have cancelled it.
    first_possible: u64,
    successes: u32,
}

const NEVER: u64 = u64::MAX;
/// How many examples a message names.
const EXAMPLES: usize = 5;

/// Every rule that the history breaks, with examples.
pub fn violations(history: &History) -> Vec<String> {
    let cancels_by_id = cancels_by_id(history);
    let mut findings = Findings::default();
    for text in &history.malformed {
        findings.add("a malformed answer", || text.clone());
    }
    for list in &history.lists {
        check_list(history, &cancels_by_id, list, &mut findings);
    }
    for cancel in &history.cancels {
        check_cancel(history, &cancels_by_id, cancel, &mut findings);
    }
    check_nothing_comes_back(history, &mut findings);
    check_table(history, &cancels_by_id, &mut findings);
    findings.texts()
}

fn cancels_by_id(history: &History) -> Vec<OrderCancels> {
    let none = OrderCancels { acknowledged: NEVER, first_possible: NEVER, successes: 0 };
    let mut cancels_by_id = vec![none; history.orders.end()];
    for cancel in &history.cancels {
        let Some(order) = usize::try_from(cancel.id).ok().and_then(|id| cancels_by_id.get_mut(id))
        else {
            continue;
        };
        if cancel.is_possible() {
            order.first_possible = order.first_possible.min(cancel.begun);
        }
        if let Some((ended, 204)) = cancel.answer {
            order.acknowledged = order.acknowledged.min(ended);
            order.successes += 1;
        }
    }
    cancels_by_id
}

fn check_list(
    history: &History,
    cancels_by_id: &[OrderCancels],
    list: &List,
    findings: &mut Findings,
) {
    for id in list.ids.iter().filter(|id| !history.orders.contains(*id)) {
        findings.add("a list shows an unknown order", || format!("order {id}"));
    }
    for id in history.orders.iter() {
        let Some(order) = cancels_by_id.get(id) else { continue };
        let listed = list.ids.contains(id);
        if listed && order.acknowledged < list.begun {
            findings.add("a list that began after the 204 shows the order", || {
                let late = list.begun - order.acknowledged;
                format!("order {id}, {late} ns after its 204")
            });
        }
        if !listed && order.first_possible >= list.ended {
            findings.add("a list is incomplete: nobody had cancelled the order", || {
                format!("order {id}, list begun at {} ns", list.begun)
            });
        }
    }
}

fn check_cancel(
    history: &History,
    cancels_by_id: &[OrderCancels],
    cancel: &Cancel,
    findings: &mut Findings,
) {
    let Some((ended, status)) = cancel.answer else { return };
    let id = cancel.id;
    let of = usize::try_from(id).unwrap_or(usize::MAX);
    let order = cancels_by_id.get(of).filter(|_| history.orders.contains(of));
    match (status, order) {
        (..204 | 205..404 | 405..409 | 410.., _) => {
            findings.add("a cancel has a status that no cancel has here", || {
                format!("order {id}: {status}")
            });
        }
        (204 | 409, None) => {
            findings.add("an unknown order is not answered 404", || format!("order {id}: {status}"))
        }
        (204 | 404, Some(_)) if history.shipped.contains(of) => {
            findings.add("a shipped order is not answered 409", || format!("order {id}: {status}"));
        }
        (409, Some(_)) if !history.shipped.contains(of) => {
            findings.add("a pending order is answered 409", || format!("order {id}"));
        }
        (204, Some(order)) if order.successes > 1 => {
            findings.add("a second 204 for the same order", || format!("order {id}"));
        }
        (404, Some(order)) if order.first_possible >= ended => {
            findings.add("a pending order is answered 404", || format!("order {id}"));
        }
        _ => {}
    }
}

/// An order that was missing from a list is missing from every list that began
/// after that one had ended, those of the same client included, and cannot be
/// cancelled.
fn check_nothing_comes_back(history: &History, findings: &mut Findings) {
    let mut ended: Vec<&List> = history.lists.iter().collect();
    ended.sort_by_key(|list| list.ended);
    let mut lists: Vec<&List> = history.lists.iter().collect();
    lists.sort_by_key(|list| list.begun);
    let mut successes: Vec<&Cancel> =
        history.cancels.iter().filter(|cancel| matches!(cancel.answer, Some((_, 204)))).collect();
    successes.sort_by_key(|cancel| cancel.begun);

    let mut removed = Removed { ended: ended.into_iter().peekable(), ids: IdSet::default() };
    for list in lists {
        let removed = removed.before(list.begun, &history.orders);
        for id in list.ids.iter().filter(|id| removed.contains(*id)) {
            findings.add("an order came back to the list", || format!("order {id}"));
        }
    }
    let mut ended: Vec<&List> = history.lists.iter().collect();
    ended.sort_by_key(|list| list.ended);
    let mut removed = Removed { ended: ended.into_iter().peekable(), ids: IdSet::default() };
    for cancel in successes {
        let removed = removed.before(cancel.begun, &history.orders);
        if usize::try_from(cancel.id).is_ok_and(|id| removed.contains(id)) {
            findings.add("an order that a list no longer showed is cancelled", || {
                format!("order {}", cancel.id)
            });
        }
    }
}

/// The table holds every order once, with the status that the answers tell.
fn check_table(history: &History, cancels_by_id: &[OrderCancels], findings: &mut Findings) {
    let FinalTable { pending, shipped, cancelled } = &history.table;
    for id in history.orders.iter() {
        let Some(order) = cancels_by_id.get(id) else { continue };
        let of = || format!("order {id}");
        let rows = [pending, shipped, cancelled].map(|rows| usize::from(rows.contains(id)));
        if rows.iter().sum::<usize>() != 1 {
            findings.add("an order is not in the final table once", of);
        }
        if order.successes > 0 && !cancelled.contains(id) {
            findings.add("a 204 is not in the final table", of);
        }
        if order.first_possible == NEVER && cancelled.contains(id) {
            findings.add("the final table has a cancelled order that nobody cancelled", of);
        }
        if history.shipped.contains(id) != shipped.contains(id) {
            findings.add("a shipped order is not shipped in the final table, or the reverse", of);
        }
    }
}

/// What is missing from the lists that had ended by some time.
struct Removed<'a> {
    ended: std::iter::Peekable<std::vec::IntoIter<&'a List>>,
    ids: IdSet,
}

impl Removed<'_> {
    fn before(&mut self, time: u64, orders: &IdSet) -> &IdSet {
        while let Some(list) = self.ended.next_if(|list| list.ended < time) {
            self.ids.add_missing(orders, &list.ids);
        }
        &self.ids
    }
}

/// Violations by kind: how many, and examples.
#[derive(Default)]
struct Findings(Vec<(&'static str, usize, Vec<String>)>);

impl Findings {
    fn add(&mut self, kind: &'static str, details: impl FnOnce() -> String) {
        let position = self.0.iter().position(|(known, ..)| *known == kind);
        if position.is_none() {
            self.0.push((kind, 0, Vec::new()));
        }
        let last = self.0.len() - 1;
        if let Some((_, times, examples)) = self.0.get_mut(position.unwrap_or(last)) {
            *times += 1;
            if examples.len() < EXAMPLES {
                examples.push(details());
            }
        }
    }

    fn texts(self) -> Vec<String> {
        let text = |(kind, times, examples): (&str, usize, Vec<String>)| {
            format!("{kind} ({times} times): {}", examples.join("; "))
        };
        self.0.into_iter().map(text).collect()
    }
}
