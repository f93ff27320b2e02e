//! How soon a server with a million orders listens, against the time that the
//! `sqlite3` shell takes to print the same table as JSON; and what memory its
//! list takes.

use crate::lists::{LIST, body_of};
use crate::load::{Work, request};
use crate::machine::resident;
use crate::rounds::{go, running, starting};
use crate::server::MeasuredServer;
use crate::setup::{BenchSetup, Store};
use crate::table::{Figure, Row, Target, grouped};
use anyhow::Context;
use std::process::Command;

const ORDERS: u64 = 1_000_000;
/// What an order may take in memory in addition to its encoded form.
const MAX_OVERHEAD_BYTES: f64 = 64.0;

/// Measures both.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(ORDERS)?;
    let overhead = memory_overhead(setup, &store)?;
    let shell = || {
        let mut command = Command::new("sqlite3");
        command.arg("-json").arg(store.file()).arg("SELECT * FROM orders");
        command
    };
    let turns = [starting(|| store.serve()), running(shell)];
    let [server, shell] = go(setup.rounds, turns)?;
    let name = "start with 1,000,000 orders";
    Ok(vec![
        Row::compare(
            name,
            Figure::Seconds,
            &server,
            ("sqlite3 -json", &shell),
            Target::AtMost(3.0),
        ),
        Row::single(
            "memory in addition to 1,000,000 encoded orders",
            format!("{} B an order", grouped(overhead)),
            format!("bound: {MAX_OVERHEAD_BYTES} B"),
            overhead / MAX_OVERHEAD_BYTES,
            Target::AtMost(1.0),
        ),
    ])
}

/// Bytes an order that a server holds in addition to the encoded orders.
fn memory_overhead(setup: &mut BenchSetup, store: &Store) -> anyhow::Result<f64> {
    let (loaded, empty) = (store.serve()?, setup.store(1)?.serve()?);
    let memory = |server: &MeasuredServer| resident(server.pid()?).context("the server has ended");
    let used = memory(&loaded)?.saturating_sub(memory(&empty)?) as f64;
    let list = body_of(&loaded, &Work::Same(request("GET", LIST, Some(&store.key), false)))?;
    loaded.stop()?;
    empty.stop()?;
    Ok((used - list.len() as f64) / ORDERS as f64)
}
