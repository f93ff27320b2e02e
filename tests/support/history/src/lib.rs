//! Records what clients saw of the service and checks the recording for contradictions.
//!
//! A recording is a sequence of [`Event`]s. All their times are from one clock. Any program can
//! produce a recording. The [`Checker`] checks each event against the rules ([`Rule`]). A
//! [`Journal`] records and checks the events of [`Clients`], and reports the violations.

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

/// A set of order ids. Ids are small and close together, so a bit set compares whole lists quickly.
pub type IdSet = bit_set::BitSet;
