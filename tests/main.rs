//! Behaviour seen from outside: the program, the server over the wire, the
//! generated client.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]

mod authentication;
mod cancel_order;
mod command_line;
mod durability;
mod every_documented_answer;
mod get_pet;
mod harness;
mod last_used;
mod limits;
mod list_orders;
mod log_secrets;
mod operator;
mod paths_and_methods;
mod public_pages;
mod serving;
mod wire_judgement;
