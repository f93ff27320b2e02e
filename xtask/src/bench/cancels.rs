//! Cancels with one client and with many, against what the disk and SQLite can
//! do: as the disk is, and with every fsync a millisecond longer.

use super::disk::{self, DiskLoop, DiskWork};
use super::ground::Ground;
use super::load::Work;
use super::rounds::{Sample, Series, Turn, asking, go};
use super::table::{Figure, Row, Target, grouped};
use std::path::Path;
use std::sync::atomic::AtomicI64;

/// Enough for every round; what is left keeps the store as large.
const ORDERS: i64 = 1_000_000;
const MANY: usize = 64;

/// Measures cancels on the disk as it is and on a slower one.
pub fn measure(ground: &mut Ground) -> anyhow::Result<Vec<Row>> {
    let slow = disk::slow_fsync(&ground.new_directory()?)?;
    let mut rows = on_disk(ground, None, "", Target::AtLeast(1.2))?;
    rows.extend(on_disk(ground, Some(&slow), ", fsync + 1 ms", Target::AtLeast(3.0))?);
    Ok(rows)
}

fn on_disk(
    ground: &mut Ground,
    preload: Option<&Path>,
    disk_name: &str,
    target: Target,
) -> anyhow::Result<Vec<Row>> {
    let (store, plain) = (ground.store(ORDERS as u64)?, ground.store(ORDERS as u64)?);
    let server = ground.program.serve(&store.directory, &[], preload)?;
    let work = cancelling(&store.key, 1, ORDERS);
    let appended = ground.new_directory()?.join("appended");
    let turns = [
        disk_turn(ground, DiskLoop::start(DiskWork::Fsync, &appended, preload)?),
        disk_turn(ground, DiskLoop::start(DiskWork::Commit, &plain.file(), preload)?),
        asking(ground, &server, 1, &work, 204),
        asking(ground, &server, MANY, &work, 204),
    ];
    let [fsyncs, commits, one, many] = go(ground.rounds, turns)?;

    let floor = ("SQLite", &commits);
    let rate = |unit| Figure::Rate(unit);
    let (one_name, many_name) =
        (format!("cancel, 1 client{disk_name}"), format!("cancel, 64 clients{disk_name}"));
    Ok(vec![
        disk_row(&fsyncs, &commits, disk_name),
        Row::compare(one_name, rate("req/s"), &one, floor, Target::None),
        Row::compare(many_name, rate("req/s"), &many, floor, target),
    ])
}

fn disk_row(fsyncs: &Series, commits: &Series, disk_name: &str) -> Row {
    let (own, floor) = (commits.median(|turn| turn.rate), fsyncs.median(|turn| turn.rate));
    Row::plain(
        &format!("SQLite commits of one row{disk_name}"),
        format!("{} /s", grouped(own)),
        format!("fsync: {} /s", grouped(floor)),
        commits.ratio(fsyncs, |turn| turn.rate),
        Target::None,
    )
}

/// Cancels of the orders `first..=last`.
pub fn cancelling(key: &str, first: i64, last: i64) -> Work {
    let rest = format!(" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n");
    Work::Cancel { rest, next: AtomicI64::new(first), last }
}

fn disk_turn<'a>(ground: &Ground, mut disk: DiskLoop) -> Turn<'a> {
    let span = ground.span;
    Box::new(move || {
        let (times, seconds) = disk.turn(span)?;
        Ok(Sample::counted(times, seconds))
    })
}
