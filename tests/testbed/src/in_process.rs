//! Servers inside the test's own process, on a store and a clock that the test
//! controls.

mod answer;
mod captured_log;
mod certificate;
mod faulty_store;
mod server;
mod setup;

pub use answer::{Answer, error_of};
pub use captured_log::CapturedLog;
pub use certificate::{TestCertificate, client_trusting};
pub use faulty_store::{Fault, FaultyStore};
pub use server::{TestServer, observed};
pub use setup::{NOON, TestSetup, pending_order, unknown_key};
