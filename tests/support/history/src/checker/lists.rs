//! Checks lists and pages against the known state of the orders.

use super::faults::Faults;
use super::findings::Findings;
use super::orders::Orders;
use crate::IdSet;
use crate::event::Page;
use crate::violation::{Operation, Rule, Violation};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl Orders {
    /// Checks a whole list. If the list lacks an order that was stored before the request, the
    /// order must have been cancelled. Later lists must not show this order again.
    pub fn check_list(
        &mut self,
        list: &Arc<Operation>,
        ids: IdSet,
        faults: &Faults,
        findings: &mut Findings,
    ) {
        self.check_known(list, &ids, findings);
        self.resolve(list.begun, &ids, faults, findings);
        let visible_imports = self.visible_imports(list, &ids);
        self.check_shown(list, &ids, findings);
        let missing: Vec<usize> = self.live.difference(&ids).collect();
        for id in missing {
            let Some(order) = self.orders.get(id) else { continue };
            let must_show = order.known_from < list.begun
                || visible_imports.iter().any(|range| range.contains(&id));
            if order.may_be_gone(list.ended()) {
                if must_show {
                    self.mark_gone(id, list);
                }
            } else if must_show {
                let before = self.last_lists.get(&list.asked.client);
                let before = before.filter(|(_, ids)| ids.contains(id)).map(|(list, _)| list);
                let because: Vec<&Arc<Operation>> = before.into_iter().chain([list]).collect();
                let text = format!("no request can have cancelled order {id}");
                findings.add(Violation::new(Rule::IncompleteList, text, &because));
            }
        }
        self.last_lists.insert(list.asked.client.clone(), (Arc::clone(list), ids));
    }

    /// Checks that the page skips no order that was stored before the request. Excuses a missing
    /// order if a cancellation may have removed it. On a page of pending orders, also excuses an
    /// order that may have shipped.
    pub fn check_page(
        &mut self,
        by: &Arc<Operation>,
        page: &Page,
        ids: &IdSet,
        is_last: bool,
        findings: &mut Findings,
    ) {
        if let Some(id) = ids.iter().find(|id| *id <= page.after) {
            let text = format!("order {id} is on a page after {}", page.after);
            findings.add(Violation::new(Rule::OnTwoPages, text, &[by]));
        }
        self.check_known(by, ids, findings);
        self.check_shown(by, ids, findings);
        if page.pending {
            self.check_pending(by, ids, findings);
        }
        let end = if is_last { usize::MAX } else { ids.iter().last().unwrap_or_default() };
        let missing = self.live.difference(ids).filter(|id| *id > page.after && *id < end);
        for id in missing {
            let Some(order) = self.orders.get(id) else { continue };
            let may_lack_it = order.known_from >= by.begun
                || order.may_be_gone(by.ended())
                || (page.pending && order.may_be_shipped(by.ended()));
            if !may_lack_it {
                let text = format!("no request can have taken order {id} from its page");
                findings.add(Violation::new(Rule::IncompleteList, text, &[by]));
            }
        }
    }

    fn check_known(&self, list: &Arc<Operation>, ids: &IdSet, findings: &mut Findings) {
        for id in ids.difference(&self.known) {
            let text = format!("a list shows order {id}, which was never imported");
            findings.add(Violation::new(Rule::ImpossibleAnswer, text, &[list]));
        }
    }

    /// Checks a page of pending orders. An order that had shipped before the page was requested
    /// violates [`Rule::CameBack`].
    fn check_pending(&self, by: &Arc<Operation>, ids: &IdSet, findings: &mut Findings) {
        for id in ids.iter() {
            let Some(order) = self.orders.get(id).filter(|order| order.shipped_from < by.begun)
            else {
                continue;
            };
            let because: Vec<&Arc<Operation>> = order.shipped.iter().chain([by]).collect();
            let text = format!("order {id} had shipped, and is on a page of pending ones");
            findings.add(Violation::new(Rule::CameBack, text, &because));
        }
    }

    /// Returns the unconfirmed imports with at least one order in the list, and records that they
    /// succeeded. One order proves an import, because each recorded import is one transaction.
    fn visible_imports(&mut self, list: &Operation, ids: &IdSet) -> Vec<RangeInclusive<usize>> {
        let shows = |(first, last): &(usize, usize)| (*first..=*last).any(|id| ids.contains(id));
        let visible: Vec<(usize, usize)> = self.imports.iter().copied().filter(shows).collect();
        visible.iter().for_each(|(first, last)| self.record_import(*first, *last, list.ended()));
        visible.into_iter().map(|(first, last)| first..=last).collect()
    }

    /// Checks that the list shows no order that was known to be cancelled or gone before the list
    /// was requested.
    fn check_shown(&self, list: &Arc<Operation>, ids: &IdSet, findings: &mut Findings) {
        for id in ids.intersection(&self.gone) {
            let Some(order) = self.orders.get(id) else { continue };
            let is_before = |operation: &&Arc<Operation>| operation.ended() < list.begun;
            let cancelled = order.cancelled.as_ref().filter(is_before);
            let earlier = self.last_lists.get(&list.asked.client);
            let earlier = earlier
                .filter(|(earlier, ids)| !ids.contains(id) && order.known_from < earlier.begun);
            let removal = order.gone.as_ref().filter(is_before);
            let (rule, because) = match (cancelled, earlier, removal) {
                (Some(cancelled), ..) => (Rule::ListedAfter204, vec![cancelled, list]),
                (None, Some((earlier, _)), Some(_)) => (Rule::WentBack, vec![earlier, list]),
                (None, None, Some(removal)) => (Rule::CameBack, vec![removal, list]),
                (None, _, None) => continue,
            };
            findings.add(Violation::new(rule, format!("order {id}"), &because));
        }
    }
}
