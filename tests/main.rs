//! Behaviour seen from outside: the program, the server over the wire, the
//! generated client.
//!
//! - `list_orders`, `order_pages`, `cancel_order`, `get_pet`, `docs`, `paths_and_methods`: a file
//!   per route. `conditional`: entity tags. `traces`: the trace of a request in the log.
//! - `authentication`, `last_used`, `limits`: keys and limits.
//! - `odd_requests`: what no client should send. `cli`: the commands. `server`: running a server.
//!   `durability`: crashes.
//! - `client`: the generated client and the contract.
//! - `every_documented_answer` and `contract_check`: the wire and the document.
//!   `published_documents`: the same, held against each document that was published.
//!
//! What these tests and the tools of `xtask` share is in `tests/support`: `testbed` starts the
//! program, `test_server` is a server inside the test, `history` records and checks what clients saw,
//! `conformance` has what every engine must do, and `protocol` searches what replicas decide.
//! `tests/judges` has what the outside tools need.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]

mod authentication;
mod cancel_order;
mod cli;
mod client;
mod conditional;
mod contract_check;
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
