//! Orders, accounts and keys in PostgreSQL: each scenario on servers of its own.

mod absent_standby;
mod alerts;
pub mod conformance;
mod full_disk;
mod hosts;
mod idle_transaction;
mod keys;
mod long_import;
mod passwords;
mod reset_session;
mod restored_in_place;
pub mod setup;
mod slow_standby;
mod tls;
mod wraparound;

use crate::scenario::{Scenario, scenario};

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("orders::passwords", passwords::run).untimed(),
        scenario!("orders::tls", tls::run).untimed(),
        scenario!("orders::wraparound", wraparound::run),
        scenario!("orders::restored_in_place", restored_in_place::run),
        scenario!("orders::slow_standby", slow_standby::run),
        scenario!("orders::absent_standby", absent_standby::run),
        scenario!("orders::alerts", alerts::run),
        scenario!("orders::reset_session", reset_session::run),
        scenario!("orders::suspended_host", hosts::run_suspended),
        scenario!("orders::read_only_host", hosts::run_read_only),
        scenario!("orders::keys", keys::run),
        scenario!("orders::long_import", long_import::run),
        scenario!("orders::idle_transaction", idle_transaction::run),
        scenario!("orders::full_disk", full_disk::run),
    ]
}
