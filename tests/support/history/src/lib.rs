//! What clients saw of the service, and whether it can be true.
//!
//! A recording is events on one clock ([`Event`], a JSON line each). The [`Checker`] holds them
//! against the rules ([`Rule`]) as they come; it knows nothing of how they came about. A
//! [`Journal`] records, checks and judges what [`Clients`] see.

mod answer_times;
mod checker;
pub mod event;
mod figures;
mod id_ranges;
mod journal;
mod listed;
mod traffic;
mod violation;
pub mod workload;

pub use answer_times::{ANSWER_LIMIT, GIVES_UP_AFTER};
pub use checker::Checker;
pub use event::{Event, read_events};
pub use figures::Figures;
pub use journal::{Journal, violations};
pub use listed::ShownOrders;
pub use traffic::{ACCOUNT, Clients, Traffic};
pub use violation::{Operation, Rule, Violation};

/// Order ids, which are numbered from 1 and close together: a list is compared with what it must
/// show word by word.
pub type IdSet = bit_set::BitSet;
