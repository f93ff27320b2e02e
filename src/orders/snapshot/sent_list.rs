//! The hold of responses on a snapshot, which is taken away when the list is cut off.

use super::Snapshot;
use parking_lot::Mutex;
use std::sync::Arc;

/// The list was cut off, because outdated lists held too much memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was cut off: it was read too slowly")]
pub struct CutOff;

/// A snapshot that is sent until it is cut off. All responses that send it share this.
#[derive(Debug)]
pub struct SentList(Mutex<Option<Arc<Snapshot>>>);

impl SentList {
    /// Begins a response with this snapshot.
    pub fn of(snapshot: &Arc<Snapshot>) -> Arc<SentList> {
        let mut sent = snapshot.sent.lock();
        let shared = sent.upgrade().filter(|sent| sent.snapshot().is_ok());
        shared.unwrap_or_else(|| {
            let new = Arc::new(SentList(Mutex::new(Some(Arc::clone(snapshot)))));
            *sent = Arc::downgrade(&new);
            new
        })
    }

    /// The snapshot, not to be held over a pause: it can be cut off at any time.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.0.lock().clone().ok_or(CutOff)
    }
}

impl Snapshot {
    /// Cuts off the responses that send this snapshot. Returns their number.
    pub fn cut_off(&self) -> usize {
        let Some(sent) = self.sent.lock().upgrade() else { return 0 };
        // Dropped without the lock.
        let cut = sent.0.lock().take();
        cut.map_or(0, |_| Arc::strong_count(&sent) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::snapshot;
    use super::*;

    #[test]
    fn all_responses_that_send_a_list_are_cut_off_and_no_later_one() {
        let list = Arc::new(snapshot(1));
        assert_eq!(list.cut_off(), 0);
        let sent = [(); 2].map(|()| SentList::of(&list));
        assert!(sent.iter().all(|sent| sent.snapshot().is_ok()));
        assert_eq!(list.cut_off(), 2);
        assert!(sent.iter().all(|sent| sent.snapshot().is_err()));
        assert_eq!(list.cut_off(), 0);
        let later = SentList::of(&list);
        assert!(later.snapshot().is_ok());
        drop((sent, later));
        assert_eq!(Arc::strong_count(&list), 1);
    }
}
