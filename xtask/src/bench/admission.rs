//! Whether letting a request in costs more the more accounts there are: each
//! request comes with the next of all keys, so none of them is at hand.

use super::ground::{Ground, request};
use super::keys;
use super::load::Work;
use super::rounds::{asking, go};
use super::server::Running;
use super::table::{Figure, Row, Target};
use std::sync::atomic::AtomicUsize;

const CONNECTIONS: usize = 32;
const FEW: u64 = 100;
const MANY: u64 = 100_000;
/// Let in, counted, and answered 404: the least that a request with a key is.
const NOTHING: &str = "/v1/store/nothing";

/// Measures many accounts against few.
pub fn measure(ground: &mut Ground) -> anyhow::Result<Vec<Row>> {
    let (few, few_keys) = server_with(ground, FEW)?;
    let (many, many_keys) = server_with(ground, MANY)?;
    let turn = |server, work| asking(ground, server, CONNECTIONS, work, 404);
    let [few, many] = go(ground.rounds, [turn(&few, &few_keys), turn(&many, &many_keys)])?;
    Ok(vec![Row::compare(
        "admission with 100,000 accounts in turn, 32 clients",
        Figure::Rate("req/s"),
        &many,
        ("100 accounts", &few),
        Target::AtLeast(0.9),
    )])
}

fn server_with(ground: &mut Ground, accounts: u64) -> anyhow::Result<(Running, Work)> {
    let store = ground.store(100)?;
    let mut keys = keys::add_accounts(&store.file(), accounts)?;
    fastrand::Rng::with_seed(accounts).shuffle(&mut keys);
    // The generator holds as many requests for either, so that it has the same
    // memory to walk through.
    let all = keys.iter().map(|key| request("GET", NOTHING, Some(key), false));
    let requests = all.cycle().take(MANY as usize).collect();
    Ok((ground.serve(&store)?, Work::InTurn(requests, AtomicUsize::new(0))))
}
