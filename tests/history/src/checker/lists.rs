//! A list against what is known of the orders.

use super::faults::Faults;
use super::findings::Findings;
use super::orders::Orders;
use crate::IdSet;
use crate::violation::{Operation, Rule, Violation};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl Orders {
    /// A list was answered.
    pub fn listed(
        &mut self,
        list: &Arc<Operation>,
        ids: IdSet,
        faults: &Faults,
        findings: &mut Findings,
    ) {
        for id in ids.missing_from(&self.known) {
            let text = format!("a list shows order {id}, which was never imported");
            findings.add(Violation::new(Rule::ImpossibleAnswer, text, &[list]));
        }
        self.resolve(list.begun, &ids, faults, findings);
        let seen = self.imports_seen(list, &ids);
        self.check_shown(list, &ids, findings);
        let missing: Vec<usize> = self.live.missing_from(&ids).collect();
        for id in missing {
            let Some(order) = self.orders.get(id) else { continue };
            let must_show =
                order.known_from < list.begun || seen.iter().any(|range| range.contains(&id));
            if order.may_be_gone(list.ended()) {
                if must_show {
                    self.is_gone(id, list);
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

    /// Imports of which the list shows something: it must show all of them.
    fn imports_seen(&mut self, list: &Operation, ids: &IdSet) -> Vec<RangeInclusive<usize>> {
        let shows = |(first, last): &(usize, usize)| (*first..=*last).any(|id| ids.contains(id));
        let seen: Vec<(usize, usize)> = self.imports.iter().copied().filter(shows).collect();
        seen.iter().for_each(|(first, last)| self.imported(*first, *last, list.ended()));
        seen.into_iter().map(|(first, last)| first..=last).collect()
    }

    /// No order that was gone before the list began is in it.
    fn check_shown(&self, list: &Arc<Operation>, ids: &IdSet, findings: &mut Findings) {
        for id in ids.common(&self.gone) {
            let Some(order) = self.orders.get(id) else { continue };
            let is_before = |operation: &&Arc<Operation>| operation.ended() < list.begun;
            let cancelled = order.cancelled.as_ref().filter(is_before);
            let own = self.last_lists.get(&list.asked.client);
            let own = own.filter(|(own, ids)| !ids.contains(id) && order.known_from < own.begun);
            let gone = order.gone.as_ref().filter(is_before);
            let (rule, because) = match (cancelled, own, gone) {
                (Some(cancelled), ..) => (Rule::ListedAfter204, vec![cancelled, list]),
                (None, Some((own, _)), Some(_)) => (Rule::WentBack, vec![own, list]),
                (None, None, Some(gone)) => (Rule::CameBack, vec![gone, list]),
                (None, _, None) => continue,
            };
            findings.add(Violation::new(rule, format!("order {id}"), &because));
        }
    }
}
