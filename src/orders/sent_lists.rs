//! The lists that are being sent. All responses with the same snapshot share one reference to the
//! snapshot. Clearing this reference ends the responses, and frees an outdated snapshot.

use crate::orders::snapshot::Snapshot;
use arc_swap::ArcSwapOption;
use std::sync::{Arc, Weak};

/// The list was cut off because outdated lists used too much memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was cut off: it was read too slowly")]
pub struct CutOff;

/// The snapshot that responses send. `None` after the list was cut off.
#[derive(Debug)]
pub struct SentList(ArcSwapOption<Snapshot>);

/// The lists that are being sent, in the order in which their first responses began.
#[derive(Debug, Default)]
pub struct SentLists(Vec<Weak<SentList>>);

impl SentList {
    /// Returns the snapshot. Do not keep the snapshot across an `await`. Otherwise, cutting off the
    /// list would not free the snapshot's memory.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.0.load_full().ok_or(CutOff)
    }

    /// Ends the responses that send this list. Returns the number of these responses, or 0 if the
    /// list was already cut off. The caller and each response must hold exactly one reference,
    /// because the number is computed from the references.
    pub fn cut_off(self: &Arc<SentList>) -> usize {
        self.0.swap(None).map_or(0, |_| Arc::strong_count(self) - 1)
    }
}

impl SentLists {
    /// Returns the reference that all responses with this snapshot share. Creates a new reference
    /// if none exists, or if the existing reference was cleared.
    pub fn register(&mut self, snapshot: &Arc<Snapshot>) -> Arc<SentList> {
        let sends_snapshot = |sent: &Arc<SentList>| {
            sent.snapshot().is_ok_and(|sent_snapshot| Arc::ptr_eq(&sent_snapshot, snapshot))
        };
        let mut newest_first = self.0.iter().rev().filter_map(Weak::upgrade);
        if let Some(shared) = newest_first.find(sends_snapshot) {
            return shared;
        }
        self.0.retain(|sent| sent.strong_count() > 0);
        let new = Arc::new(SentList(ArcSwapOption::from(Some(Arc::clone(snapshot)))));
        self.0.push(Arc::downgrade(&new));
        new
    }

    /// Returns the memory in bytes of the lists that are being sent, except `current`. A page that
    /// several lists share is counted for each list.
    pub fn outdated_bytes(&self, current: &Arc<Snapshot>) -> usize {
        self.outdated(current).map(|(_, bytes)| bytes).sum()
    }

    /// Returns the oldest outdated lists to cut off, so that the remaining outdated lists hold at
    /// most `bound` bytes. A list is outdated if it is not `current`.
    ///
    /// Never returns the newest outdated list. Otherwise clients could not read a list of more than
    /// `bound` bytes while orders change.
    pub fn excess(&self, current: &Arc<Snapshot>, bound: usize) -> Vec<Arc<SentList>> {
        let mut excess = self.outdated_bytes(current).saturating_sub(bound);
        if excess == 0 {
            return Vec::new();
        }
        let mut outdated: Vec<_> = self.outdated(current).collect();
        outdated.pop();
        let is_excess = |(_, bytes): &(Arc<SentList>, usize)| {
            let is_excess = excess > 0;
            excess = excess.saturating_sub(*bytes);
            is_excess
        };
        outdated.into_iter().take_while(is_excess).map(|(sent, _)| sent).collect()
    }

    /// Returns each list being sent, except `current`, and how many bytes of memory the list holds.
    fn outdated(&self, current: &Arc<Snapshot>) -> impl Iterator<Item = (Arc<SentList>, usize)> {
        self.0.iter().filter_map(Weak::upgrade).filter_map(move |sent| {
            let list = sent.snapshot().ok().filter(|list| !Arc::ptr_eq(list, current))?;
            Some((sent, list.held_bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::snapshot::edit::tests::snapshot;

    #[test]
    fn a_cut_off_ends_the_responses_of_a_list_but_no_later_one() {
        let (mut lists, list) = (SentLists::default(), Arc::new(snapshot(1)));
        let (sent, responses) = (lists.register(&list), [(); 2].map(|()| lists.register(&list)));
        assert!(responses.iter().all(|response| response.snapshot().is_ok()));
        assert_eq!(sent.cut_off(), responses.len());
        assert!(responses.iter().all(|response| response.snapshot().is_err()));
        assert_eq!(sent.cut_off(), 0);
        let later_list = lists.register(&list);
        assert!(later_list.snapshot().is_ok());
        drop((sent, responses, later_list));
        assert_eq!(Arc::strong_count(&list), 1);
    }

    #[test]
    fn the_oldest_outdated_lists_exceed_the_bound_but_the_newest_does_not() {
        let mut lists = SentLists::default();
        let snapshots = [(); 4].map(|()| Arc::new(snapshot(100)));
        let [_, _, _, current] = &snapshots;
        let sent = [0, 3, 1, 2].map(|place| lists.register(&snapshots[place]));
        let bytes = current.held_bytes();
        assert_eq!(lists.outdated_bytes(current), 3 * bytes);
        let excess = |bound| -> Vec<usize> {
            let excess = lists.excess(current, bound);
            let place = |cut: &Arc<SentList>| sent.iter().position(|sent| Arc::ptr_eq(sent, cut));
            excess.iter().map(|cut| place(cut).unwrap()).collect()
        };
        assert!(excess(3 * bytes).is_empty());
        assert_eq!(excess(3 * bytes - 1), [0]);
        assert_eq!(excess(2 * bytes), [0]);
        assert_eq!(excess(2 * bytes - 1), [0, 2]);
        assert_eq!(excess(0), [0, 2]);
        sent[0].cut_off();
        assert!(excess(2 * bytes).is_empty());
        drop(sent);
        assert_eq!(lists.outdated_bytes(current), 0);
    }
}
