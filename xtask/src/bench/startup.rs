//! How soon a server with a million orders listens, against the time that the
//! `sqlite3` shell takes to print the same table as JSON; and what memory its
//! list takes.

use super::ground::{Ground, request};
use super::lists::{LIST, body_of};
use super::load::Work;
use super::machine::{Side, resident};
use super::rounds::{Sample, Turn, go};
use super::table::{Figure, Row, Target, grouped};
use anyhow::{Context, bail};
use std::process::{Command, Stdio};
use std::time::Instant;

const ORDERS: u64 = 1_000_000;
/// Bytes an order that the server may hold beside the encoded ones.
const BESIDE: f64 = 64.0;

/// Measures both.
pub fn measure(ground: &mut Ground) -> anyhow::Result<Vec<Row>> {
    let store = ground.store(ORDERS)?;
    let (loaded, empty) = (ground.serve(&store)?, ground.store(1)?);
    let empty = ground.serve(&empty)?;
    let memory = |server: &super::server::Running| {
        server.process.pid().and_then(resident).context("the server has ended")
    };
    let used = memory(&loaded)?.saturating_sub(memory(&empty)?) as f64;
    let list = body_of(&loaded, &Work::Same(request("GET", LIST, Some(&store.key), false)))?;
    let beside = (used - list.len() as f64) / ORDERS as f64;
    loaded.process.stop()?;

    let (program, data) = (&ground.program, &store.directory);
    let server: Turn<'_> = Box::new(|| {
        let server = program.serve(data, &[], None)?;
        let started_in = server.started_in.as_secs_f64();
        server.process.stop()?;
        Ok(Sample::counted(1, started_in))
    });
    let shell: Turn<'_> = Box::new(|| {
        let begun = Instant::now();
        let mut command = Command::new("sqlite3");
        command.arg("-json").arg(store.file()).arg("SELECT * FROM orders");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if !Side::Served.start(&mut command)?.wait()?.success() {
            bail!("sqlite3 could not print the table");
        }
        Ok(Sample::counted(1, begun.elapsed().as_secs_f64()))
    });
    let [server, shell] = go(ground.rounds, [server, shell])?;
    let name = "start with 1,000,000 orders";
    Ok(vec![
        Row::compare(
            name,
            Figure::Seconds,
            &server,
            ("sqlite3 -json", &shell),
            Target::AtMost(3.0),
        ),
        Row::plain(
            "memory beside 1,000,000 encoded orders",
            format!("{} B an order", grouped(beside)),
            format!("bound: {BESIDE} B"),
            beside / BESIDE,
            Target::AtMost(1.0),
        ),
    ])
}
