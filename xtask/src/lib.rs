//! The commands of `cargo xtask`, which keep the OpenAPI documents in `spec`, the server and the
//! client consistent.
//!
//! This crate depends neither on `api` nor on the server, because `generate` must work while these
//! crates do not compile. The commands are a library and print to a writer of the caller, so that
//! tests can read the output.

pub mod browser;
pub mod canonical_json;
pub mod changelog;
pub mod check;
pub mod check_report;
pub mod cli;
pub mod client_command;
pub mod client_readme;
pub mod compatibility;
pub mod documents;
pub mod emitted;
pub mod evidence;
pub mod external_checks;
pub mod generate;
pub mod guide;
pub mod history;
pub mod line_diff;
pub mod outcome;
pub mod pages;
pub mod publish;
pub mod published;
pub mod repository;
pub mod samples;
pub mod version;

pub use outcome::Outcome;
