//! Tests of the program from outside: its commands, the server over the wire, and the generated
//! client.
//!
//! - `list_orders`, `order_pages`, `get_order`, `cancel_order`, `get_pet`: one operation each.
//! - `docs`, `paths_and_methods`, `conditional`, `odd_requests`: the public pages, unsupported
//!   requests, entity tags, and invalid requests.
//! - `authentication`, `last_used`, `limits`: keys and limits.
//! - `traces`, `log_secrets`: a request's trace in the log. No key is in the log or in a response.
//! - `cli`, `server`, `durability`: the commands, running a server, and crashes.
//! - `every_documented_answer`, `published_documents`: responses match the documents, and every
//!   documented part occurs in a request or response.
//! - `wire_check`: the proxy that compares responses with the documents.
//!
//! `tests/support` has the packages that the tests share, some of them with `xtask`.
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
