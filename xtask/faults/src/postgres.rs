//! Scenarios of orders, accounts and keys in PostgreSQL. Each scenario starts its own PostgreSQL
//! servers and API servers.

mod awaited;
pub mod conformance;
mod idle_transaction;
mod keys;
mod long_import;
mod restored_in_place;
mod rolling_restart;
pub mod setup;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("postgres::restored_in_place", restored_in_place::run),
        scenario!("postgres::awaited", awaited::run),
        scenario!("postgres::keys", keys::run),
        scenario!("postgres::long_import", long_import::run),
        scenario!("postgres::idle_transaction", idle_transaction::run),
        scenario!("postgres::rolling_restart", rolling_restart::run),
    ]
}
