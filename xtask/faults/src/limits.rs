//! Windows, strikes and bans in PostgreSQL: each scenario on servers of its own.

mod agreement;
mod servers;
mod suspended;
mod waits;

use crate::scenario::{Scenario, scenario};

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("limits::agreement", agreement::run).untimed(),
        scenario!("limits::waits", waits::run).untimed(),
        scenario!("limits::servers", servers::run),
        scenario!("limits::suspended", suspended::run),
    ]
}
