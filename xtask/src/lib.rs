//! The commands of `cargo xtask`. They keep three things consistent: the OpenAPI documents in
//! `spec`, the server, and the client.
//!
//! Except in tests, this crate depends neither on `api` nor on the server, because `generate` must
//! work while these crates do not compile. The commands are functions of a library. They print to a
//! writer that the caller passes, so that tests can read the output.

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
