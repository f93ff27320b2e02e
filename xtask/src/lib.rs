//! What keeps the contract, the server and the client in agreement, as a
//! library, so that tests call the same functions as the command line.
//!
//! It depends on `api` alone and never on the server: the checks must run
//! while the server does not compile. Each command has a file of its own and
//! writes to the writer that it is given.

pub mod browser;
pub mod changelog;
pub mod check;
pub mod cli;
pub mod client_code;
pub mod compare;
pub mod compatibility;
pub mod generate;
pub mod judge;
pub mod line_diff;
pub mod outcome;
pub mod panics;
pub mod publish;
pub mod published;
pub mod repository;
pub mod strict_json;
pub mod version;

pub use outcome::Outcome;
