//! What changes of a document mean for callers: a table of changes, each with
//! its verdict and with what the changelog has to name.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop here")]

mod every_key;
mod operations;
mod parameters;
mod request_bodies;
mod response_bodies;
mod responses;
mod table;
mod whole;
