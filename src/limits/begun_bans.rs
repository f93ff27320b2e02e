//! The bans that begin, on their way to the store.

use super::strikes::KeyBan;
use crate::counter::Counter;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

/// A ban that begins, to be written to the row of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBan {
    /// The key, by its row in the store.
    pub key: i64,
    /// The ban.
    pub ban: KeyBan,
}

/// Counts the bans that begin, and passes them on.
#[derive(Debug, Default)]
pub struct BegunBans {
    /// How many have begun since the start.
    pub count: Counter,
    recorder: Mutex<Option<UnboundedSender<NewBan>>>,
}

impl BegunBans {
    /// Sends each ban that begins from now on here, or nowhere.
    pub fn send_to(&self, recorder: Option<UnboundedSender<NewBan>>) {
        *self.recorder.lock() = recorder;
    }

    pub(super) fn begin(&self, ban: NewBan) {
        self.count.inc();
        if let Some(recorder) = &*self.recorder.lock() {
            // An error means that the server has stopped.
            let _ = recorder.send(ban);
        }
    }
}
