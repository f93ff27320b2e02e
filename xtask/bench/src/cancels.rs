//! Cancels with one client and with many, against what the disk and SQLite can
//! do: as the disk is, and with every fsync a millisecond longer.

use crate::disk_loop::{DiskLoop, DiskWork};
use crate::load::Work;
use crate::machine::Side;
use crate::rounds::{Sample, Series, Turn, asking, go};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
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
    let appended = setup.new_directory()?.join("appended");
    let turns = [
        disk_turn(setup, DiskLoop::start(DiskWork::Fsync, &appended, disk)?),
        disk_turn(setup, DiskLoop::start(DiskWork::Commit, &plain.file(), disk)?),
        asking(setup, &server, 1, &work, 204),
        asking(setup, &server, MANY, &work, 204),
    ];
    let [fsyncs, commits, one, many] = go(setup.rounds, turns)?;

    let sqlite = ("SQLite", &commits);
    let rate = |unit| Figure::Rate(unit);
    let (one_name, many_name) =
        (format!("cancel, 1 client{disk_name}"), format!("cancel, 64 clients{disk_name}"));
    Ok(vec![
        disk_row(&fsyncs, &commits, disk_name),
        Row::compare(one_name, rate("req/s"), &one, sqlite, Target::None),
        Row::compare(many_name, rate("req/s"), &many, sqlite, target),
    ])
}

fn disk_row(fsyncs: &Series, commits: &Series, disk_name: &str) -> Row {
    let work = format!("SQLite commits of one row{disk_name}");
    Row::compare(work, Figure::Rate("/s"), commits, ("fsync", fsyncs), Target::None)
}

/// Cancels of the orders `first..=last`.
pub fn cancelling(key: &str, first: i64, last: i64) -> Work {
    let rest = format!(" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n");
    Work::Cancel { rest, next: AtomicI64::new(first), last }
}

fn disk_turn<'a>(setup: &BenchSetup, mut disk: DiskLoop) -> Turn<'a> {
    let span = setup.span;
    Box::new(move || {
        let (times, seconds) = disk.turn(span)?;
        Ok(Sample::counted(times, seconds))
    })
}
