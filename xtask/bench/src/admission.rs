//! Whether a request costs more the more accounts there are: each comes with the
//! next of all keys, so none of them is in the processor's cache.

use crate::keys;
use crate::load::{Work, request};
use crate::rounds::{asking, go};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};
use std::sync::atomic::AtomicUsize;

const CONNECTIONS: usize = 32;
const FEW: u64 = 100;
const MANY: u64 = 100_000;
/// Admitted, counted, and answered 404: the cheapest request with a key.
const UNKNOWN_PATH: &str = "/v1/store/nothing";

/// Measures many accounts against few.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let (few, few_keys) = server_with(setup, FEW)?;
    let (many, many_keys) = server_with(setup, MANY)?;
    let turn = |server, work| asking(setup, server, CONNECTIONS, work, 404);
    let [few, many] = go(setup.rounds, [turn(&few, &few_keys), turn(&many, &many_keys)])?;
    Ok(vec![Row::compare(
        "admission with 100,000 accounts in turn, 32 clients",
        Figure::Rate("req/s"),
        &many,
        ("100 accounts", &few),
        Target::AtLeast(0.9),
    )])
}

fn server_with(setup: &mut BenchSetup, accounts: u64) -> anyhow::Result<(MeasuredServer, Work)> {
    let store = setup.store(100)?;
    let mut keys = keys::add_accounts(&store.file(), accounts)?;
    fastrand::Rng::with_seed(accounts).shuffle(&mut keys);
    // As many requests for either, so that the generator walks through as much
    // memory.
    let all = keys.iter().map(|key| request("GET", UNKNOWN_PATH, Some(key), false));
    let requests = all.cycle().take(MANY as usize).collect();
    Ok((store.serve()?, Work::InTurn(requests, AtomicUsize::new(0))))
}
