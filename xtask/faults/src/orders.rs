//! Orders, accounts and keys in PostgreSQL: each scenario on servers of its own.

mod absent_standby;
mod alerts;
pub mod conformance;
mod full_disk;
mod idle_transaction;
mod keys;
mod long_import;
mod reset_session;
mod restored_in_place;
pub mod setup;
mod slow_standby;

use crate::scenario::{Scenario, scenario};

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("orders::restored_in_place", restored_in_place::run),
        scenario!("orders::slow_standby", slow_standby::run),
        scenario!("orders::absent_standby", absent_standby::run),
        scenario!("orders::alerts", alerts::run),
        scenario!("orders::reset_session", reset_session::run),
        scenario!("orders::keys", keys::run),
        scenario!("orders::long_import", long_import::run),
        scenario!("orders::idle_transaction", idle_transaction::run),
        scenario!("orders::full_disk", full_disk::run),
    ]
}
