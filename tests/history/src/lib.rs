//! What clients saw of the service, and whether it can be true.
//!
//! [`HistoryRecorder`] lists and cancels the same orders with many clients while
//! the server is killed and restarted. [`violations`] holds what they saw against
//! the rules of cancelling; it knows nothing of how the history came about.

mod checker;
mod clients;
mod id_set;
mod recorder;

pub use checker::violations;
pub use clients::ids_of;
pub use id_set::IdSet;
pub use recorder::{HistoryRecorder, Workload};

/// What clients saw of a store whose orders are numbered from 1.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The orders that were there at first.
    pub orders: IdSet,
    /// Those of them that had shipped.
    pub shipped: IdSet,
    /// Lists that were answered.
    pub lists: Vec<List>,
    /// Cancels, answered or not.
    pub cancels: Vec<Cancel>,
    /// Answers that are not documented, and answers cut off by a running server.
    pub malformed: Vec<String>,
    /// The store's table when everything was over.
    pub table: FinalTable,
}

/// A list. Times are nanoseconds of one monotonic clock.
#[derive(Clone, Debug)]
pub struct List {
    /// Before the first byte of the request was sent.
    pub begun: u64,
    /// After the last byte of the answer had come.
    pub ended: u64,
    /// What it listed.
    pub ids: IdSet,
}

/// A cancel.
#[derive(Clone, Copy, Debug)]
pub struct Cancel {
    /// Which order.
    pub id: i64,
    /// Before the first byte of the request was sent.
    pub begun: u64,
    /// When the answer had come, and its status; none if the connection was cut
    /// before: the cancel may have been carried out or not.
    pub answer: Option<(u64, u16)>,
}

/// The orders in the store by status.
#[derive(Clone, Debug, Default)]
pub struct FinalTable {
    /// Pending.
    pub pending: IdSet,
    /// Shipped.
    pub shipped: IdSet,
    /// Cancelled.
    pub cancelled: IdSet,
}
