//! Store Orders: the server that keeps the contract of `store-orders-api`.

pub mod cli;
pub mod clock;
pub mod config;
pub mod front_door;
mod handlers;
pub mod import;
pub mod keys;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod orders;
pub mod public_pages;
pub mod server;
pub mod store;
