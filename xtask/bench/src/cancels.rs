//! Cancels with one client and with many, against what SQLite can do: as the disk is, and with every
//! fsync a millisecond longer.

use crate::load::Work;
use crate::machine::Side;
use crate::rounds::{asking, go};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::sqlite_loop::{SqliteLoop, SqliteWork};
use crate::table::{Figure, Row, Target};
use std::sync::atomic::AtomicI64;
use testbed::Preload;

/// Enough for every round, so that the store stays about as large.
const ORDERS: i64 = 1_000_000;
const MANY: usize = 64;

/// Measures cancels on the disk as it is and on a slower one.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let slow = Preload::disk()?;
    slow.set(1)?;
    let mut rows = on_disk(setup, None, "", Target::AtLeast(1.2))?;
    rows.extend(on_disk(setup, Some(&slow), ", fsync + 1 ms", Target::AtLeast(3.0))?);
    Ok(rows)
}

fn on_disk(
    setup: &mut BenchSetup,
    disk: Option<&Preload>,
    disk_name: &str,
    target: Target,
) -> anyhow::Result<Vec<Row>> {
    let (store, plain) = (setup.store(ORDERS as u64)?, setup.store(ORDERS as u64)?);
    let server = MeasuredServer::serve(Side::Served, &store.data, &[], disk)?;
    let work = cancelling(&store.key, 1, ORDERS);
    let turns = [
        SqliteLoop::start(SqliteWork::Commit, &plain.file(), disk)?.turns(setup),
        asking(setup, &server, 1, &work, 204),
        asking(setup, &server, MANY, &work, 204),
    ];
    let [commits, one, many] = go(setup.rounds, turns)?;
    let row = |clients, own, target| {
        let (name, sqlite) = (format!("cancel, {clients}{disk_name}"), ("SQLite alone", &commits));
        Row::compare(name, Figure::Rate("req/s"), own, sqlite, target)
    };
    Ok(vec![row("1 client", &one, Target::None), row("64 clients", &many, target)])
}

/// Cancels of the orders `first..=last`.
pub fn cancelling(key: &str, first: i64, last: i64) -> Work {
    let rest = format!(" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n");
    Work::Cancel { rest, next: AtomicI64::new(first), last }
}
