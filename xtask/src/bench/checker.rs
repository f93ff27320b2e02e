//! Whether what clients saw can be true: every list and every cancel with its
//! beginning, its end and its answer, held against the rules of cancelling. It
//! knows nothing of how the history came about.

use super::id_set::IdSet;

/// What clients saw of a store whose orders are numbered from 1.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The orders that there were at first.
    pub orders: IdSet,
    /// Those of them that had shipped.
    pub shipped: IdSet,
    /// Lists that were answered.
    pub lists: Vec<List>,
    /// Cancels, answered or not.
    pub cancels: Vec<Cancel>,
    /// Answers that were no list, or none that is documented.
    pub malformed: Vec<String>,
}

/// A list. Times are nanoseconds of one monotonic clock.
#[derive(Clone, Debug)]
pub struct List {
    /// Before the first byte of the request was sent.
    pub begun: u64,
    /// After the last byte of the answer had come.
    pub ended: u64,
    /// What it listed.
    pub ids: IdSet,
}

/// A cancel.
#[derive(Clone, Copy, Debug)]
pub struct Cancel {
    /// Which order.
    pub id: i64,
    /// Before the first byte of the request was sent.
    pub begun: u64,
    /// When the answer had come, and its status; nothing if the connection was
    /// cut before: it may have been carried out or not.
    pub answer: Option<(u64, u16)>,
}

impl Cancel {
    /// Whether it may have cancelled the order: it did, or nobody knows.
    fn is_possible(&self) -> bool {
        self.answer.is_none_or(|(_, status)| status == 204)
    }
}

/// What is known of one order.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// When it was acknowledged that the order is cancelled.
    acknowledged: u64,
    /// When the first cancel began that may have cancelled it.
    first_possible: u64,
    successes: u32,
}

/// Never, as a time.
const NEVER: u64 = u64::MAX;
/// So many are told of each kind.
const TOLD: usize = 5;

/// Every way in which the history cannot be true, in words.
pub fn violations(history: &History) -> Vec<String> {
    let fates = fates(history);
    let mut found = Found::default();
    for text in &history.malformed {
        found.add("an answer that is not documented", || text.clone());
    }
    for list in &history.lists {
        check_list(history, &fates, list, &mut found);
    }
    for cancel in &history.cancels {
        check_cancel(history, &fates, cancel, &mut found);
    }
    check_order_of_lists(history, &mut found);
    found.texts()
}

fn fates(history: &History) -> Vec<Fate> {
    let none = Fate { acknowledged: NEVER, first_possible: NEVER, successes: 0 };
    let mut fates = vec![none; history.orders.end()];
    for cancel in &history.cancels {
        let Some(fate) = usize::try_from(cancel.id).ok().and_then(|id| fates.get_mut(id)) else {
            continue;
        };
        if cancel.is_possible() {
            fate.first_possible = fate.first_possible.min(cancel.begun);
        }
        if let Some((ended, 204)) = cancel.answer {
            fate.acknowledged = fate.acknowledged.min(ended);
            fate.successes += 1;
        }
    }
    fates
}

fn check_list(history: &History, fates: &[Fate], list: &List, found: &mut Found) {
    for id in list.ids.iter().filter(|id| !history.orders.contains(*id)) {
        found.add("a list shows an order that never was", || format!("order {id}"));
    }
    for id in history.orders.iter() {
        let Some(fate) = fates.get(id) else { continue };
        let listed = list.ids.contains(id);
        if listed && fate.acknowledged < list.begun {
            found.add("a list shows an order whose cancel was acknowledged before", || {
                let late = list.begun - fate.acknowledged;
                format!("order {id}, {late} ns after its 204")
            });
        }
        if !listed && fate.first_possible >= list.ended {
            found.add("an order is missing from a list although nobody had cancelled it", || {
                format!("order {id}, list begun at {} ns", list.begun)
            });
        }
    }
}

fn check_cancel(history: &History, fates: &[Fate], cancel: &Cancel, found: &mut Found) {
    let Some((ended, status)) = cancel.answer else { return };
    let id = cancel.id;
    let of = usize::try_from(id).unwrap_or(usize::MAX);
    let fate = fates.get(of).filter(|_| history.orders.contains(of));
    match (status, fate) {
        (..204 | 205..404 | 405..409 | 410.., _) => {
            found.add("a cancel that could have been answered was not", || {
                format!("order {id}: {status}")
            });
        }
        (204 | 409, None) => {
            found.add("an order that never was is answered so", || format!("order {id}: {status}"))
        }
        (204 | 404, Some(_)) if history.shipped.contains(of) => {
            found.add("a shipped order is not answered 409", || format!("order {id}: {status}"));
        }
        (409, Some(_)) if !history.shipped.contains(of) => {
            found.add("a pending order is answered 409", || format!("order {id}"));
        }
        (204, Some(fate)) if fate.successes > 1 => {
            found.add("a second 204 for the same order", || format!("order {id}"));
        }
        (404, Some(fate)) if fate.first_possible >= ended => {
            found.add("an order is not found although nobody had cancelled it", || {
                format!("order {id}")
            });
        }
        _ => {}
    }
}

/// What was gone from a list that had ended stays gone: from lists that began
/// later, and for cancels that did.
fn check_order_of_lists(history: &History, found: &mut Found) {
    let mut ended: Vec<&List> = history.lists.iter().collect();
    ended.sort_by_key(|list| list.ended);
    let mut lists: Vec<&List> = history.lists.iter().collect();
    lists.sort_by_key(|list| list.begun);
    let mut successes: Vec<&Cancel> =
        history.cancels.iter().filter(|cancel| matches!(cancel.answer, Some((_, 204)))).collect();
    successes.sort_by_key(|cancel| cancel.begun);

    let mut gone = Gone { ended: ended.into_iter().peekable(), ids: IdSet::default() };
    for list in lists {
        let gone = gone.before(list.begun, &history.orders);
        for id in list.ids.iter().filter(|id| gone.contains(*id)) {
            found.add("an order came back to the list", || format!("order {id}"));
        }
    }
    let mut ended: Vec<&List> = history.lists.iter().collect();
    ended.sort_by_key(|list| list.ended);
    let mut gone = Gone { ended: ended.into_iter().peekable(), ids: IdSet::default() };
    for cancel in successes {
        let gone = gone.before(cancel.begun, &history.orders);
        if usize::try_from(cancel.id).is_ok_and(|id| gone.contains(id)) {
            found.add("an order that was gone from the list is cancelled", || {
                format!("order {}", cancel.id)
            });
        }
    }
}

/// What was missing from any list that had ended by some time.
struct Gone<'a> {
    ended: std::iter::Peekable<std::vec::IntoIter<&'a List>>,
    ids: IdSet,
}

impl Gone<'_> {
    fn before(&mut self, time: u64, orders: &IdSet) -> &IdSet {
        while let Some(list) = self.ended.next_if(|list| list.ended < time) {
            self.ids.add_missing(orders, &list.ids);
        }
        &self.ids
    }
}

/// Violations by kind: how many, and the first ones.
#[derive(Default)]
struct Found(Vec<(&'static str, usize, Vec<String>)>);

impl Found {
    fn add(&mut self, kind: &'static str, details: impl FnOnce() -> String) {
        let position = self.0.iter().position(|(known, ..)| *known == kind);
        if position.is_none() {
            self.0.push((kind, 0, Vec::new()));
        }
        let last = self.0.len() - 1;
        if let Some((_, times, told)) = self.0.get_mut(position.unwrap_or(last)) {
            *times += 1;
            if told.len() < TOLD {
                told.push(details());
            }
        }
    }

    fn texts(self) -> Vec<String> {
        let text = |(kind, times, told): (&str, usize, Vec<String>)| {
            format!("{kind} ({times} times): {}", told.join("; "))
        };
        self.0.into_iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orders 1 to 5, of which 5 has shipped; 1 is cancelled from 10 to 20, 2
    /// by a cancel that began at 30 and was never answered.
    fn truth() -> History {
        History {
            orders: (1..=5).collect(),
            shipped: [5].into_iter().collect(),
            lists: vec![
                list(0, 5, &[1, 2, 3, 4, 5]),
                // Both under way with the cancel of 1: it may show it or not.
                list(12, 18, &[2, 3, 4, 5]),
                list(11, 16, &[1, 2, 3, 4, 5]),
                list(25, 28, &[2, 3, 4, 5]),
                list(31, 40, &[2, 3, 4, 5]),
                list(50, 60, &[3, 4, 5]),
            ],
            cancels: vec![
                cancel(1, 10, Some((20, 204))),
                cancel(1, 13, Some((22, 404))),
                cancel(2, 30, None),
                cancel(5, 1, Some((2, 409))),
                cancel(9, 1, Some((2, 404))),
                cancel(2, 70, Some((75, 404))),
            ],
            malformed: vec![],
        }
    }

    fn list(begun: u64, ended: u64, ids: &[usize]) -> List {
        List { begun, ended, ids: ids.iter().copied().collect() }
    }

    fn cancel(id: i64, begun: u64, answer: Option<(u64, u16)>) -> Cancel {
        Cancel { id, begun, answer }
    }

    #[test]
    fn what_can_be_true_is_believed() {
        assert_eq!(violations(&truth()), Vec::<String>::new());
    }

    /// Each makes the truth a lie in one way, and is found for it.
    #[test]
    fn every_seeded_violation_is_found() {
        type Lie = fn(&mut History);
        let lies: [(&str, Lie); 13] = [
            ("acknowledged before", |h| h.lists.push(list(21, 24, &[1, 2, 3, 4, 5]))),
            ("missing from a list", |h| h.lists.push(list(6, 9, &[2, 3, 4, 5]))),
            ("missing from a list", |h| h.lists.push(list(80, 90, &[3, 5]))),
            ("never was", |h| h.lists.push(list(80, 90, &[3, 4, 5, 7]))),
            ("came back", |h| h.lists.push(list(80, 90, &[2, 3, 4, 5]))),
            ("second 204", |h| h.cancels.push(cancel(1, 80, Some((90, 204))))),
            ("second 204", |h| h.cancels.push(cancel(1, 10, Some((20, 204))))),
            ("gone from the list is cancelled", |h| h.cancels.push(cancel(2, 80, Some((90, 204))))),
            ("not found although", |h| h.cancels.push(cancel(3, 80, Some((90, 404))))),
            ("shipped order is not", |h| h.cancels.push(cancel(5, 80, Some((90, 204))))),
            ("pending order is answered 409", |h| h.cancels.push(cancel(3, 80, Some((90, 409))))),
            ("could have been answered", |h| h.cancels.push(cancel(3, 80, Some((90, 503))))),
            ("not documented", |h| h.malformed.push("an object".to_string())),
        ];
        for (expected, lie) in lies {
            let mut history = truth();
            lie(&mut history);
            let found = violations(&history);
            assert!(found.iter().any(|text| text.contains(expected)), "{expected}: {found:?}");
        }
    }

    #[test]
    fn an_order_of_an_unknown_id_is_not_answered_204() {
        let mut history = truth();
        history.cancels.push(cancel(9, 80, Some((90, 204))));
        assert_eq!(violations(&history).len(), 1);
    }
}
