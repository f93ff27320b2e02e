//! What a replica knows of itself: its row in the store, and the last change that it has seen.

use crate::store::postgres::journal::JournalSeen;
use crate::store::{CancelledBatch, ChangeNumber, Standbys};
use parking_lot::Mutex;

/// One server's process.
#[derive(Debug)]
pub struct Replica {
    id: String,
    state: Mutex<ReplicaState>,
}

#[derive(Debug, Default)]
struct ReplicaState {
    address: String,
    listed: ChangeNumber,
    seen: JournalSeen,
    standbys: Standbys,
    has_left: bool,
}

impl Default for Replica {
    /// With a new random id.
    fn default() -> Replica {
        Replica { id: format!("{:016x}", rand::random::<u64>()), state: Mutex::default() }
    }
}

impl Replica {
    /// What names it in the store.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it listens, once it does.
    pub fn set_address(&self, address: String) {
        self.state.lock().address = address;
    }

    /// It stops: its row is to be removed.
    pub fn leave(&self) {
        self.state.lock().has_left = true;
    }

    /// Whether it stops.
    pub fn has_left(&self) -> bool {
        self.state.lock().has_left
    }

    /// Its list reflects this change.
    pub fn lists(&self, reflected: ChangeNumber) {
        let listed = &mut self.state.lock().listed;
        // A batch that was cancelled meanwhile may have brought the list further.
        if reflected.has_more_than(*listed) {
            *listed = reflected;
        }
    }

    /// Its list lacks what this batch cancelled.
    pub fn cancelled(&self, batch: &CancelledBatch) {
        let listed = &mut self.state.lock().listed;
        *listed = listed.after(batch.generation, batch.change_numbers);
    }

    /// What the last attempt to open a session found of the standbys.
    pub fn set_standbys(&self, standbys: Standbys) {
        self.state.lock().standbys = standbys;
    }

    /// The standbys that must confirm each commit.
    pub fn standbys(&self) -> Standbys {
        self.state.lock().standbys
    }

    /// Calls `decide` with the last change that was seen.
    pub fn with_seen<T>(&self, decide: impl FnOnce(&mut JournalSeen) -> T) -> T {
        decide(&mut self.state.lock().seen)
    }

    /// The last change that was seen.
    pub fn seen(&self) -> JournalSeen {
        self.state.lock().seen.clone()
    }

    /// Its address and the last change of its list.
    pub fn shown(&self) -> (String, i64) {
        let state = self.state.lock();
        (state.address.clone(), state.listed.number)
    }
}
