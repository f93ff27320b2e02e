//! Counts new bans and sends them to the task that writes them to the store.

use super::strikes::KeyBan;
use crate::counter::counter;
use parking_lot::Mutex;
use prometheus::IntCounter;
use tokio::sync::mpsc::UnboundedSender;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBan {
    pub key: i64,
    pub ban: KeyBan,
}

#[derive(Debug)]
pub struct BegunBans {
    pub count: IntCounter,
    recorder: Mutex<Option<UnboundedSender<NewBan>>>,
}

impl Default for BegunBans {
    fn default() -> BegunBans {
        let count = counter("store_orders_bans_total", "Bans of keys that have begun.");
        BegunBans { count, recorder: Mutex::default() }
    }
}

impl BegunBans {
    /// Sets the channel through which new bans reach the task that records them in the store.
    /// `None` stops recording.
    pub fn send_to(&self, recorder: Option<UnboundedSender<NewBan>>) {
        *self.recorder.lock() = recorder;
    }

    pub(super) fn begin(&self, ban: NewBan) {
        self.count.inc();
        if let Some(recorder) = &*self.recorder.lock() {
            // Sending fails only if the task that records bans has ended. That happens only while
            // the server stops.
            let _ = recorder.send(ban);
        }
    }
}
