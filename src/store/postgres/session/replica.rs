//! What a server keeps from session to session: the values of its row in `replicas`, the last
//! change seen, and the standbys and settings that make commits durable.

use super::durability::Settings;
use crate::store::postgres::journal::JournalSeen;
use crate::store::{CancelledBatch, Position, Standbys};
use parking_lot::Mutex;

#[derive(Debug)]
pub struct Replica {
    id: String,
    state: Mutex<ReplicaState>,
}

/// A replica's address, and the number of the last change that the replica's list reflects.
/// Heartbeats write both to the replica's row.
pub type RowValues = (String, i64);

#[derive(Debug, Default)]
struct ReplicaState {
    address: String,
    listed: Position,
    last_seen: JournalSeen,
    standbys: Standbys,
    settings: Option<Settings>,
    has_left: bool,
}

impl Default for Replica {
    fn default() -> Replica {
        Replica { id: format!("{:016x}", rand::random::<u64>()), state: Mutex::default() }
    }
}

impl Replica {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn set_address(&self, address: String) {
        self.state.lock().address = address;
    }

    /// Records that the server is stopping, which ends its heartbeats.
    pub fn leave(&self) {
        self.state.lock().has_left = true;
    }

    pub fn has_left(&self) -> bool {
        self.state.lock().has_left
    }

    pub fn set_listed(&self, reflected: Position) {
        let listed = &mut self.state.lock().listed;
        // Keep a later position, because a batch of cancellations may have advanced the list since
        // `reflected` was computed.
        if reflected.has_more_than(*listed) {
            *listed = reflected;
        }
    }

    /// Records that the server's list also reflects this batch, unless the list lacks an earlier
    /// change.
    pub fn record_cancelled(&self, batch: &CancelledBatch) {
        let listed = &mut self.state.lock().listed;
        *listed = listed.after(batch.positions);
    }

    /// Records how many standbys must confirm each commit, and how many are able to. A failed
    /// attempt to open a session also records these numbers.
    pub fn set_standbys(&self, standbys: Standbys) {
        self.state.lock().standbys = standbys;
    }

    pub fn standbys(&self) -> Standbys {
        self.state.lock().standbys
    }

    /// Returns the previous settings, so that the caller can detect a change.
    pub fn replace_settings(&self, settings: Settings) -> Option<Settings> {
        self.state.lock().settings.replace(settings)
    }

    /// Calls `decide` with the last change that this server has seen. `decide` may replace that
    /// change with a later one.
    pub fn with_seen<T>(&self, decide: impl FnOnce(&mut JournalSeen) -> T) -> T {
        decide(&mut self.state.lock().last_seen)
    }

    pub fn last_seen(&self) -> JournalSeen {
        self.state.lock().last_seen.clone()
    }

    pub fn row_values(&self) -> RowValues {
        let state = self.state.lock();
        (state.address.clone(), state.listed.number)
    }
}
