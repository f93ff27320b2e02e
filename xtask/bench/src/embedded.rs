//! Measures the embedded store. Each result is compared with a baseline:
//!
//! - lists and rejections: bare dropshot, which sends the same body
//! - cancellations: SQLite with one row per commit
//! - the start of a server: the sqlite3 shell, which prints all orders

use crate::bare_dropshot;
use crate::load::{Load, request};
use crate::rounds::{Turn, Work, command_turn, compare, load_turn, start_turn};
use crate::setup::{LIST, Served, Setup, cancels, fetch_body, serve};
use crate::sqlite_commits;
use crate::table::{Row, Target, Unit};
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use testbed::{DataDir, Preload, ServerProcess};

/// For each list: the number of orders, the same number as text, the number of clients, and the
/// server's minimum rate relative to bare dropshot.
///
/// The number of clients depends on the length of the list. Fewer clients would leave the server
/// idle. More clients would fill the socket buffers.
const LENGTHS: [(u64, &str, usize, f64); 3] =
    [(100, "100", 32, 0.75), (10_000, "10,000", 8, 1.1), (1_000_000, "1,000,000", 2, 1.0)];

/// The number of orders in the store when a server's start and its cancellations are measured.
pub const MANY: u64 = 1_000_000;

/// Ids of the orders that a single client cancels, enough for all rounds.
const ONE_CANCELS: Range<u64> = 1..200_000;
/// Ids of the orders that 64 clients cancel, enough for all rounds.
const MANY_CANCEL: Range<u64> = 200_000..MANY;

const STORE_FILE: &str = "store.sqlite";

pub fn lists(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (orders, name, clients, least) in LENGTHS {
        let builds = setup.embedded(orders)?;
        let Served { store, server } = &builds.this;
        let dropshot = start_dropshot(setup, &fetch_body(server, LIST, &store.key, 200)?)?;
        rows.extend(setup.rates(
            format!("list of {name}, {clients} clients"),
            Target::AtLeast(least),
            &builds,
            |store| Load::same(clients, 200, request("GET", LIST, &store.key)),
            ("dropshot", dropshot_turn(setup, &dropshot, clients, &store.key)),
        )?);
    }
    Ok(rows)
}

/// Measures how fast the server refuses requests. 401 is for an unknown key, and 429 is for an
/// account whose limits are 0.
pub fn rejections(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let (builds, unknown) = (setup.embedded(1)?, setup.store(&setup.programs.this, None, 1)?.key);
    let Served { store, server } = &builds.this;
    let mut rows = Vec::new();
    for (status, key) in [(401, &unknown), (429, &store.limited_key)] {
        let dropshot = start_dropshot(setup, &fetch_body(server, LIST, key, status)?)?;
        rows.extend(setup.rates(
            format!("{status}, 32 clients"),
            Target::AtLeast(0.75),
            &builds,
            |store| {
                let key = if status == 401 { &unknown } else { &store.limited_key };
                Load::same(32, status, request("GET", LIST, key))
            },
            ("dropshot", dropshot_turn(setup, &dropshot, 32, key)),
        )?);
    }
    Ok(rows)
}

/// Measures cancellations with the disk's own fsync, and again with an fsync that only waits for 1
/// ms. The wait makes the figures independent of the disk.
pub fn cancellations(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let fixed_sync = Preload::fixed_sync(1)?;
    let mut rows = Vec::new();
    for (disk, preload) in [("", None), (", fsync of 1 ms", Some(&fixed_sync))] {
        let builds = setup.embedded_with(MANY, preload)?;
        let file = store_file(&setup.store(&setup.programs.this, None, MANY)?.data);
        for (name, clients, ids, target) in [
            ("cancel, 1 client", 1, ONE_CANCELS, Target::None),
            ("cancel, 64 clients", 64, MANY_CANCEL, Target::AtLeast(1.2)),
        ] {
            let sqlite = sqlite_commits::turn(&file, ids.clone(), setup.loop_time, preload);
            rows.extend(setup.rates(
                format!("{name}{disk}"),
                target,
                &builds,
                |store| cancels(clients, ids.clone(), &store.key),
                ("SQLite, one row a commit", sqlite),
            )?);
        }
    }
    Ok(rows)
}

pub fn start(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let stores = setup.programs.map(|program| setup.store(program, None, MANY))?;
    let mut shell = Command::new("sqlite3");
    shell.arg("-json").arg(store_file(&stores.this.data)).arg("SELECT * FROM orders");
    let name = "start with 1,000,000 orders".to_string();
    let work = Work { name, unit: Unit::Milliseconds, target: Target::AtMost(3.0) };
    let turns = stores.map(|store| Ok(start_turn(|| serve(&store.data))))?;
    compare(setup.rounds, work, turns, "sqlite3 -json", command_turn(shell))
}

fn start_dropshot(setup: &Setup, body: &[u8]) -> anyhow::Result<ServerProcess> {
    bare_dropshot::start(&setup.new_directory()?, body)
}

/// Measures bare dropshot, which sends the same body as the store's server. Bare dropshot ignores
/// the key.
fn dropshot_turn<'a>(
    setup: &Setup,
    dropshot: &'a ServerProcess,
    clients: usize,
    key: &str,
) -> Turn<'a> {
    let load = Load::same(clients, 200, request("GET", bare_dropshot::PATH, key));
    load_turn(dropshot, load, setup.loop_time)
}

fn store_file(data: &DataDir) -> PathBuf {
    data.path().join(STORE_FILE)
}
