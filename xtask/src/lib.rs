//! The commands of `cargo xtask`, which keep the contract, the server and the
//! client in agreement. A library, so that tests call the same functions as the
//! command line.
//!
//! It depends neither on `api` nor on the server: `generate` must run while `api` does not
//! compile, and the checks while the server does not. Each command has a file of its own and prints to
//! the writer that is passed in.

pub mod browser;
pub mod canonical_json;
pub mod changelog;
pub mod check;
pub mod cli;
pub mod client_readme;
pub mod compare;
pub mod compatibility;
pub mod documents;
pub mod emitted;
pub mod evidence;
pub mod generate;
pub mod history;
pub mod judge;
pub mod line_diff;
pub mod outcome;
pub mod pages;
pub mod publish;
pub mod published;
pub mod report;
pub mod repository;
pub mod samples;
pub mod version;

pub use outcome::Outcome;
