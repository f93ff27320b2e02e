//! Measures a store in PostgreSQL. Each result is compared with a baseline:
//!
//! - lists and the counting of requests: the embedded store, with counts in memory
//! - cancellations: pgbench
//! - the start of a server: psql, which copies all orders

use crate::embedded::MANY;
use crate::load::{Load, request};
use crate::machine::on_served_core;
use crate::rounds::{Builds, Sample, Turn, Work, command_turn, compare, load_turn, start_turn};
use crate::setup::{LIST, Setup, Store, cancels, serve};
use crate::table::{Row, Target, Unit};
use anyhow::{Context, ensure};
use std::cell::Cell;
use std::process::Command;
use std::time::Duration;
use testbed::Program;
use testbed::postgres::{Cluster, Installed, Postgres, USER};
use tokio::runtime::Runtime;

const CLIENTS: usize = 64;

/// The wait between the start of a server and the first cancellation. A server delays cancellations
/// in the first second after its start.
pub const FIRST_ACKNOWLEDGED_AFTER: Duration = Duration::from_millis(1_500);

const SETTINGS: [(&str, &str); 2] = [("shared_buffers", "512MB"), ("max_wal_size", "4GB")];

/// Servers cancel only orders below this id. pgbench changes only orders above it.
const LAST_CANCELLED: u64 = 700_000;

/// The transaction that pgbench repeats. The transaction sets the change number, as a cancellation
/// does, so PostgreSQL must also update the index on the change number.
const ONE_ROW: &str = "\\set id random(700001, 1000000)
UPDATE orders SET complete = NOT complete, change_number = CASE change_number WHEN 1 THEN 2 ELSE 1 END
WHERE id = :id;
";

/// A path that the API does not have. A 404 costs the server less than any other counted request.
const UNKNOWN_PATH: &str = "/v1/store/nothing";

/// A PostgreSQL server. It runs on the CPU core that the benchmark uses for servers.
pub struct Database {
    pub runtime: Runtime,
    pub postgres: Postgres,
    installed: Installed,
    /// The number of stores created so far. It becomes part of the name of the next database.
    stores: Cell<u32>,
    _cluster: Cluster,
}

pub fn measure(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let database = Database::start(setup)?;
    let large = setup.programs.map(|program| database.store(setup, program, MANY))?;
    let mut rows = start(setup, &database, &large)?;
    rows.extend(cancellations(setup, &database, large)?);
    rows.extend(lists_and_counts(setup, &database)?);
    Ok(rows)
}

impl Database {
    pub fn start(setup: &Setup) -> anyhow::Result<Database> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let installed = Installed::find()?;
        let cluster = Cluster::create_in(&installed, &setup.new_directory()?)?;
        let primary = || runtime.block_on(cluster.primary("primary", &SETTINGS));
        let postgres = on_served_core(primary)?;
        Ok(Database { runtime, postgres, installed, stores: Cell::new(0), _cluster: cluster })
    }

    pub fn store(&self, setup: &Setup, program: &Program, orders: u64) -> anyhow::Result<Store> {
        let database = format!("bench_{}", self.stores.replace(self.stores.get() + 1));
        self.psql(&self.url("postgres"), &format!("CREATE DATABASE {database}"))?;
        let store = setup.store(program, Some(&self.url(&database)), orders)?;
        self.psql(url_of(&store)?, "VACUUM ANALYZE orders")?;
        Ok(store)
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.postgres.port)
    }

    fn psql(&self, url: &str, sql: &str) -> anyhow::Result<()> {
        let output = self.installed.client("psql").args(["-qc", sql, url]).output()?;
        ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

pub fn url_of(store: &Store) -> anyhow::Result<&str> {
    store.data.store().context("a store in PostgreSQL has an address")
}

fn start(setup: &Setup, database: &Database, stores: &Builds<Store>) -> anyhow::Result<Vec<Row>> {
    let mut psql = database.installed.client("psql");
    psql.args(["-qc", "COPY orders TO STDOUT", url_of(&stores.this)?]);
    let name = "start with 1,000,000 orders, PostgreSQL".to_string();
    let work = Work { name, unit: Unit::Milliseconds, target: Target::AtMost(4.0) };
    let turns = stores.map(|store| Ok(start_turn(|| serve(&store.data))))?;
    compare(setup.rounds, work, turns, "psql COPY", command_turn(psql))
}

fn cancellations(
    setup: &Setup,
    database: &Database,
    stores: Builds<Store>,
) -> anyhow::Result<Vec<Row>> {
    let script = setup.new_directory()?.join("one-row.sql");
    std::fs::write(&script, ONE_ROW)?;
    let mut pgbench = database.installed.client("pgbench");
    pgbench.args(["-n", "-M", "prepared", "-c", "64", "-j", "1", "-T", "3", "-f"]).arg(script);
    // pgbench gets its own store, so that no measured server has to read pgbench's changes.
    pgbench.arg(url_of(&database.store(setup, &setup.programs.this, MANY)?)?);
    let builds = stores.into_served()?;
    std::thread::sleep(FIRST_ACKNOWLEDGED_AFTER);
    setup.rates(
        "cancel, 64 clients, PostgreSQL",
        Target::AtLeast(3.0),
        &builds,
        |store| cancels(CLIENTS, 1..LAST_CANCELLED, &store.key),
        ("pgbench, 64 connections, one row each", pgbench_turn(pgbench)),
    )
}

/// Measures pgbench's transactions per second. pgbench runs on the core of the load generator.
fn pgbench_turn<'a>(mut pgbench: Command) -> Turn<'a> {
    Box::new(move || {
        let output = pgbench.output()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let rate = stdout.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        let rate = rate.with_context(|| {
            format!("pgbench: {stdout}{}", String::from_utf8_lossy(&output.stderr))
        })?;
        Ok(Sample::without_cpu(rate.parse()?))
    })
}

/// Compares PostgreSQL with an embedded store. For the list and an unknown path (404), the server
/// counts the request in PostgreSQL. A daily limit of zero (429) needs no query of the counts.
fn lists_and_counts(setup: &Setup, database: &Database) -> anyhow::Result<Vec<Row>> {
    let builds = setup.programs.map(|program| database.store(setup, program, 100)?.serve())?;
    let embedded = setup.store(&setup.programs.this, None, 100)?.serve()?;
    let mut rows = Vec::new();
    for (name, path, status, target) in [
        ("list of 100", LIST, 200, Target::AtLeast(0.7)),
        ("404", UNKNOWN_PATH, 404, Target::None),
        ("429", LIST, 429, Target::None),
    ] {
        let load = |store: &Store| {
            let key = if status == 429 { &store.limited_key } else { &store.key };
            Load::same(CLIENTS, status, request("GET", path, key))
        };
        let sqlite = load_turn(&embedded.server, load(&embedded.store), setup.loop_time);
        let name = format!("{name}, 64 clients, PostgreSQL");
        let baseline = ("SQLite, counts in memory", sqlite);
        rows.extend(setup.rates(name, target, &builds, load, baseline)?);
    }
    Ok(rows)
}
