//! Scenarios of rate limits in PostgreSQL: windows, strikes and bans. Each scenario has its own
//! database server.

mod agreement;
mod servers;

use crate::scenario::{Scenario, scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("limits::agreement", agreement::run).untimed(),
        scenario!("limits::servers", servers::run),
    ]
}
