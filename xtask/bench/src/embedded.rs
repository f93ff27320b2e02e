//! The embedded store: lists and rejections against bare dropshot, cancels against SQLite, the
//! start against the shell of SQLite.

use crate::bare_dropshot;
use crate::load::{Load, request};
use crate::machine::on_served_core;
use crate::rounds::{Sample, Turn, Work, compare, loading, running, starting};
use crate::setup::{LIST, Served, Setup, Store, body_of, cancels, serve};
use crate::table::{Row, Target, Unit};
use anyhow::ensure;
use rusqlite::Connection;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testbed::{DataDir, ServerProcess};

/// Orders, their number in words, as many clients as keep the server busy and the machine's buffers
/// small, and how many times the rate of bare dropshot is asked for.
const LENGTHS: [(u64, &str, usize, f64); 3] =
    [(100, "100", 32, 0.75), (10_000, "10,000", 8, 1.1), (1_000_000, "1,000,000", 2, 1.0)];

/// Orders of stores that are started or whose orders are cancelled.
pub const MANY: u64 = 1_000_000;

/// The ids that one client cancels, and those that 64 do: enough for all rounds.
const ONE_CANCELS: Range<u64> = 1..200_000;
const MANY_CANCEL: Range<u64> = 200_000..MANY;

/// The file of a data directory that holds the orders.
const STORE_FILE: &str = "store.sqlite";

/// Lists of three lengths.
pub fn lists(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (orders, name, clients, least) in LENGTHS {
        let builds = setup.embedded(orders)?;
        let Served { store, server } = &builds.own;
        let dropshot = bare(setup, &body_of(server, LIST, &store.key, 200)?)?;
        rows.extend(setup.rates(
            format!("list of {name}, {clients} clients"),
            Target::AtLeast(least),
            &builds,
            |store| Load::same(clients, 200, request("GET", LIST, &store.key)),
            ("dropshot", asking(setup, &dropshot, clients, &store.key)),
        )?);
    }
    Ok(rows)
}

/// The 401 of a well-formed key that is not known, and the 429 of an account that may send nothing.
pub fn rejections(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let (builds, unknown) = (setup.embedded(1)?, setup.store(&setup.programs.own, None, 1)?.key);
    let Served { store, server } = &builds.own;
    let mut rows = Vec::new();
    for (status, key) in [(401, &unknown), (429, &store.limited_key)] {
        let dropshot = bare(setup, &body_of(server, LIST, key, status)?)?;
        rows.extend(setup.rates(
            format!("{status}, 32 clients"),
            Target::AtLeast(0.75),
            &builds,
            |store| {
                let key = if status == 401 { &unknown } else { &store.limited_key };
                Load::same(32, status, request("GET", LIST, key))
            },
            ("dropshot", asking(setup, &dropshot, 32, key)),
        )?);
    }
    Ok(rows)
}

/// Cancels of one client and of 64.
pub fn cancellations(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let builds = setup.embedded(MANY)?;
    let file = file_of(&setup.store(&setup.programs.own, None, MANY)?.data);
    let mut rows = Vec::new();
    for (name, clients, ids, target) in [
        ("cancel, 1 client", 1, ONE_CANCELS, Target::None),
        ("cancel, 64 clients", 64, MANY_CANCEL, Target::AtLeast(1.2)),
    ] {
        let sqlite = committing(&file, ids.clone(), setup.span)?;
        let load = |store: &Store| cancels(clients, ids.clone(), &store.key);
        rows.extend(setup.rates(
            name,
            target,
            &builds,
            load,
            ("SQLite, one row a commit", sqlite),
        )?);
    }
    Ok(rows)
}

/// The start with a million orders.
pub fn start(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let stores = setup.programs.map(|program| setup.store(program, None, MANY))?;
    let mut shell = Command::new("sqlite3");
    shell.arg("-json").arg(file_of(&stores.own.data)).arg("SELECT * FROM orders");
    let name = "start with 1,000,000 orders".to_string();
    let work = Work { name, unit: Unit::Milliseconds, target: Target::AtMost(3.0) };
    let turns = stores.map(|store| Ok(starting(|| serve(&store.data))))?;
    compare(setup.rounds, work, turns, "sqlite3 -json", running(shell))
}

fn bare(setup: &Setup, body: &[u8]) -> anyhow::Result<ServerProcess> {
    bare_dropshot::start(&setup.new_directory()?, body)
}

/// Bare dropshot gets the same bytes as the server, and ignores the key.
fn asking<'a>(setup: &Setup, dropshot: &'a ServerProcess, clients: usize, key: &str) -> Turn<'a> {
    let load = Load::same(clients, 200, request("GET", bare_dropshot::PATH, key));
    loading(dropshot, load, setup.span)
}

fn file_of(data: &DataDir) -> PathBuf {
    data.path().join(STORE_FILE)
}

/// The least that a durable cancel is: one statement on one row a transaction, in the modes of the
/// server's own connection, as often as the span lets it.
fn committing<'a>(file: &Path, mut ids: Range<u64>, span: Duration) -> anyhow::Result<Turn<'a>> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    ensure!(mode == "wal", "the store's journal mode is {mode}, not wal");
    let mut run = move || {
        let (began, mut commits) = (Instant::now(), 0.0);
        while began.elapsed() < span {
            let Some(id) = ids.next() else { break };
            let mut cancel = connection.prepare_cached(
                "UPDATE orders SET status = 'cancelled', version = ?1 + 1, cancelled_by = 'key_bench',
                        cancelled_at = '2026-01-01T00:00:00.000Z'
                 WHERE id = ?1 AND status = 'pending'",
            )?;
            ensure!(cancel.execute([i64::try_from(id)?])? == 1, "order {id} cannot be cancelled");
            commits += 1.0;
        }
        Ok(Sample::of(commits / began.elapsed().as_secs_f64()))
    };
    Ok(Box::new(move || on_served_core(&mut run)))
}
