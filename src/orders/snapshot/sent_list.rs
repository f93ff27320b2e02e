//! Lets the server cut off all responses that send a snapshot. The responses reach the snapshot
//! through one shared reference, and end when that reference is cleared.

use super::Snapshot;
use parking_lot::Mutex;
use std::sync::Arc;

/// The list was cut off because outdated lists used too much memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was cut off: it was read too slowly")]
pub struct CutOff;

/// The snapshot that responses send, or `None` after it was cut off. All responses that send the
/// snapshot share this value.
#[derive(Debug)]
pub struct SentList(Mutex<Option<Arc<Snapshot>>>);

impl SentList {
    /// Returns the value that the snapshot's responses share. Creates one if there is none, or if
    /// the shared value was cut off.
    pub fn for_snapshot(snapshot: &Arc<Snapshot>) -> Arc<SentList> {
        let mut sent = snapshot.sent.lock();
        let shared = sent.upgrade().filter(|sent| sent.snapshot().is_ok());
        shared.unwrap_or_else(|| {
            let new = Arc::new(SentList(Mutex::new(Some(Arc::clone(snapshot)))));
            *sent = Arc::downgrade(&new);
            new
        })
    }

    /// Returns the snapshot. Do not keep it across an `await`: a cut-off would not free its memory.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.0.lock().clone().ok_or(CutOff)
    }
}

impl Snapshot {
    /// Ends the responses that send this snapshot, and returns their number.
    pub fn cut_off(&self) -> usize {
        let Some(sent) = self.sent.lock().upgrade() else { return 0 };
        // Dropping a snapshot can take long. `cut` keeps the snapshot until the lock is released,
        // so that the lock is held only briefly.
        let cut = sent.0.lock().take();
        cut.map_or(0, |_| Arc::strong_count(&sent) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::snapshot;
    use super::*;

    #[test]
    fn a_cut_off_ends_the_responses_of_a_list_but_no_later_one() {
        let list = Arc::new(snapshot(1));
        assert_eq!(list.cut_off(), 0);
        let sent = [(); 2].map(|()| SentList::for_snapshot(&list));
        assert!(sent.iter().all(|sent| sent.snapshot().is_ok()));
        assert_eq!(list.cut_off(), 2);
        assert!(sent.iter().all(|sent| sent.snapshot().is_err()));
        assert_eq!(list.cut_off(), 0);
        let later_list = SentList::for_snapshot(&list);
        assert!(later_list.snapshot().is_ok());
        drop((sent, later_list));
        assert_eq!(Arc::strong_count(&list), 1);
    }
}
