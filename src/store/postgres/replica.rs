//! What a replica knows of itself: its row in the store, and the highest versions that it
//! has seen.

use crate::store::Versions;
use parking_lot::Mutex;

/// One server's process.
#[derive(Debug)]
pub struct Replica {
    id: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    address: String,
    list_version: i64,
    seen: Versions,
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

    /// Its list reflects this version of the orders.
    pub fn lists(&self, version: i64) {
        self.state.lock().list_version = version;
    }

    /// The store told these versions.
    pub fn saw(&self, versions: Versions) {
        let seen = &mut self.state.lock().seen;
        if seen.history != versions.history {
            *seen = versions;
        }
        seen.orders = seen.orders.max(versions.orders);
        seen.keys = seen.keys.max(versions.keys);
    }

    /// The highest versions that were seen of the last history.
    pub fn seen(&self) -> Versions {
        self.state.lock().seen
    }

    /// Its address and the version of its list.
    pub fn shown(&self) -> (String, i64) {
        let state = self.state.lock();
        (state.address.clone(), state.list_version)
    }
}
