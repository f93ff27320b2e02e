//! Servers inside the test's own process, on a store and a clock that the test controls, and the
//! check of what goes over the wire against the document.
//!
//! A package of its own, because the testbed is built while the server does not compile.
#![expect(clippy::new_without_default, reason = "`new` makes a directory, a key or a thread")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
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
