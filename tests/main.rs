//! Tests of the program from outside: its commands, the server over the wire, and the generated
//! client.
//!
//! - `list_orders`, `order_pages`, `get_order`, `cancel_order`, `get_pet`: a file per operation.
//!   `docs`: the public pages. `paths_and_methods`: unknown paths and unsupported methods.
//!   `conditional`: entity tags. `traces`: the trace of a request in the log. `log_secrets`: no key
//!   is in the log or in a response.
//! - `authentication`, `last_used`, `limits`: keys and limits.
//! - `odd_requests`: invalid and unusual requests. `cli`: the commands. `server`: running a server.
//!   `durability`: crashes.
//! - `client`: the generated client.
//! - `every_documented_answer`: the responses match the documents, and every documented part occurs
//!   in a response. `published_documents`: the responses also match each published document.
//!   `wire_check`: tests of the check that compares responses with documents.
//!
//! `tests/support` has the packages of tests: `testbed` starts the program, `test_server` is a
//! server inside the test, `history` records and checks what clients saw, `conformance` tests the
//! storage engines, and `protocol` model-checks the replicas' decisions. `xtask` uses some of them
//! too. `tests/external_checks` has the files for `cargo xtask external-checks`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod authentication;
mod cancel_order;
mod cli;
mod client;
mod conditional;
mod docs;
mod durability;
mod every_documented_answer;
mod get_order;
mod get_pet;
mod last_used;
mod limits;
mod list_orders;
mod log_secrets;
mod odd_requests;
mod order_pages;
mod paths_and_methods;
mod published_documents;
mod server;
mod traces;
mod wire_check;
