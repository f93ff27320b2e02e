//! Runs servers inside the test's process, with a store and a clock that the test controls, and
//! checks their responses against the API documents.
//!
//! This crate is separate from `testbed`, so that `testbed` builds even while the server does not
//! compile.
#![expect(clippy::new_without_default, reason = "`new` creates a directory, a key or a thread")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod answer;
mod captured_log;
mod certificate;
mod faulty_store;
mod server;
mod setup;
pub mod wire_check;

pub use answer::{Answer, error_of};
pub use captured_log::CapturedLog;
pub use certificate::{TestCertificate, client_trusting};
pub use faulty_store::{Fault, FaultyStore};
pub use server::{TestServer, observed};
pub use setup::{NOON, TestSetup, pending_order, unknown_key};
