//! Orders in PostgreSQL, against what its own programs do on the same table and against
//! the embedded store.

pub mod long_import;
pub mod round_trips;

use crate::cancels::cancelling;
use crate::keys;
use crate::lists::LIST;
use crate::load::{self, Load, Work, request};
use crate::machine::Side;
use crate::rounds::{Sample, Turn, asking, go, running, starting};
use crate::server::MeasuredServer;
use crate::setup::{BenchSetup, order};
use crate::table::{Figure, Row, Target};
use anyhow::Context;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testbed::DataDir;
use testbed::postgres::{Cluster, DATABASE, Installed, Postgres, USER};
use tokio::runtime::Runtime;

const ORDERS: i64 = 1_000_000;
const CLIENTS: usize = 64;
const REPLICAS: usize = 3;

/// When a new server acknowledges a cancellation at the latest.
const FIRST_ACKNOWLEDGED_AFTER: Duration = Duration::from_millis(1_500);

/// The settings of a machine with some memory; the others are PostgreSQL's own.
const SETTINGS: [(&str, &str); 2] = [("shared_buffers", "512MB"), ("max_wal_size", "4GB")];

/// The last order that servers cancel; those after it are pgbench's.
const LAST_CANCELLED: i64 = 700_000;

/// One changed row a transaction, as pgbench sends it. It changes the version as a
/// cancellation does, so that it enters the row into the index of versions too.
const ONE_ROW: &str = "\\set id random(700001, 1000000)
UPDATE orders SET complete = NOT complete, changed_in = CASE changed_in WHEN 1 THEN 2 ELSE 1 END
WHERE id = :id;
";

/// A database server with stores.
struct Bench {
    installed: Installed,
    cluster: Cluster,
    postgres: Postgres,
    side: Side,
    runtime: Runtime,
}

/// A store and its key.
struct Store {
    data: DataDir,
    key: String,
    /// Where its servers run.
    side: Side,
}

/// Fails if PostgreSQL is missing.
pub fn check_tools() -> anyhow::Result<()> {
    Installed::find().map(drop)
}

/// Measures imports, starts, cancels and lists.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let bench = Bench::start(setup, Side::Served)?;
    let (large, mut rows) = bench.imported(setup)?;
    rows.push(bench.starts(setup, &large)?);
    rows.extend(bench.cancels(setup, &large)?);
    rows.extend(bench.lists(setup)?);
    Ok(rows)
}

impl Bench {
    /// It and its servers run on the cores of this side.
    fn start(setup: &mut BenchSetup, side: Side) -> anyhow::Result<Bench> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let installed = Installed::find()?;
        let cluster = Cluster::create_in(&installed, &setup.new_directory()?)?;
        let start = || runtime.block_on(cluster.primary("primary", &SETTINGS));
        let postgres = side.run(start)?;
        Ok(Bench { installed, cluster, postgres, side, runtime })
    }

    /// A new store in this database.
    fn store(&self, setup: &mut BenchSetup, database: &str) -> anyhow::Result<Store> {
        if database != DATABASE {
            let create = format!("CREATE DATABASE {database}");
            self.runtime.block_on(async {
                anyhow::Ok(self.postgres.admin(DATABASE).await?.batch_execute(&create).await?)
            })?;
        }
        let url = format!("postgres://{USER}@127.0.0.1:{}/{database}", self.postgres.port);
        let directory = setup.new_directory()?;
        let data = DataDir::on_store(setup.program(), &directory, &url);
        data.run(&["migrate"])?;
        let key = data.issue_enterprise_key("bench", u32::MAX, u32::MAX)?.text;
        Ok(Store { data, key, side: self.side })
    }

    /// The store of a million orders, and how long its import took. It is done once: each
    /// takes seconds.
    fn imported(&self, setup: &mut BenchSetup) -> anyhow::Result<(Store, Vec<Row>)> {
        let lines: String = (1..=ORDERS as u64).map(|id| order(id) + "\n").collect();
        let import = |data: &DataDir| {
            let began = Instant::now();
            data.run_with_input(&["orders", "import", "-"], lines.as_bytes())?;
            anyhow::Ok(began.elapsed().as_secs_f64())
        };
        let directory = setup.new_directory()?;
        let embedded = DataDir::at(setup.program(), &directory);
        let of_embedded = import(&embedded)?;
        let store = self.store(setup, DATABASE)?;
        let own = import(&store.data)?;
        let vacuum = "VACUUM ANALYZE orders";
        self.runtime.block_on(async {
            anyhow::Ok(self.postgres.admin(DATABASE).await?.batch_execute(vacuum).await?)
        })?;
        let row = Row::single(
            "import of 1,000,000 orders into PostgreSQL",
            format!("{own:.1} s"),
            format!("into SQLite: {of_embedded:.1} s"),
            own / of_embedded,
            Target::AtMost(2.0),
        );
        Ok((store, vec![row]))
    }

    fn starts(&self, setup: &BenchSetup, store: &Store) -> anyhow::Result<Row> {
        let psql = || {
            let mut command = self.client("psql");
            command.args(["-qc", "COPY orders TO STDOUT", DATABASE]);
            command
        };
        let turns = [starting(|| store.serve(&[])), running(psql)];
        let [server, psql] = go(setup.rounds.min(5), turns)?;
        let name = "start with 1,000,000 orders in PostgreSQL";
        let baseline = ("psql COPY", &psql);
        Ok(Row::compare(name, Figure::Seconds, &server, baseline, Target::AtMost(4.0)))
    }

    fn cancels(&self, setup: &mut BenchSetup, store: &Store) -> anyhow::Result<Vec<Row>> {
        let script = setup.new_directory()?.join("one-row.sql");
        std::fs::write(&script, ONE_ROW)?;
        let servers = (0..REPLICAS)
            .map(|_| store.for_another(setup)?.serve(&[]))
            .collect::<anyhow::Result<Vec<_>>>()?;
        // A new server acknowledges no cancellation within its first second.
        std::thread::sleep(FIRST_ACKNOWLEDGED_AFTER);
        let work = cancelling(&store.key, 1, LAST_CANCELLED);
        let one = servers.first().context("there are servers")?;
        let turns = [
            Box::new(|| self.pgbench(&script)) as Turn<'_>,
            asking(setup, one, CLIENTS, &work, 204),
            Box::new(|| all_at_once(setup, &servers, &work)) as Turn<'_>,
        ];
        let [rows, one, all] = go(setup.rounds, turns)?;
        let rate = || Figure::Rate("req/s");
        let name = "cancel, 64 clients, PostgreSQL";
        let pgbench = ("pgbench, 64 connections, one row each", &rows);
        Ok(vec![
            Row::compare(name, rate(), &one, pgbench, Target::AtLeast(3.0)),
            Row::compare(
                format!("{name} each, {REPLICAS} replicas in all"),
                rate(),
                &all,
                ("one replica", &one),
                Target::AtLeast(1.0),
            ),
        ])
    }

    /// PostgreSQL's own rate of transactions.
    fn pgbench(&self, script: &Path) -> anyhow::Result<Sample> {
        let mut command = self.client("pgbench");
        command.args(["-n", "-M", "prepared", "-c", "64", "-j", "1", "-T", "3", "-f"]);
        let output = command.arg(script).arg(DATABASE).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        let rate: f64 = rate.and_then(|rate| rate.parse().ok()).with_context(|| {
            let why = String::from_utf8_lossy(&output.stderr);
            format!("pgbench printed no rate: {said} {why}")
        })?;
        Ok(Sample { rate, ..Sample::counted(1, 1.0) })
    }

    fn lists(&self, setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
        let store = self.store(setup, "small")?;
        let lines: String = (1..=100).map(|id| order(id) + "\n").collect();
        store.data.run_with_input(&["orders", "import", "-"], lines.as_bytes())?;
        let embedded = setup.store(100)?;
        let servers = [
            embedded.serve()?,
            store.serve(&[])?,
            store.for_another(setup)?.serve(&["--confirm-lists=true"])?,
        ];
        let [of_embedded, own, confirmed] = &servers;
        let plain = |key: &str| Work::Same(request("GET", LIST, Some(key), false));
        let (of_sqlite, of_postgres) = (plain(&embedded.key), plain(&store.key));
        let flood = keys::flood();
        let turns = [
            asking(setup, of_embedded, CLIENTS, &of_sqlite, 200),
            asking(setup, own, CLIENTS, &of_postgres, 200),
            asking(setup, confirmed, CLIENTS, &of_postgres, 200),
            asking(setup, of_embedded, CLIENTS, &flood, 401),
            asking(setup, own, CLIENTS, &flood, 401),
        ];
        let [sqlite, postgres, confirmed, sqlite_401, postgres_401] = go(setup.rounds, turns)?;
        let rate = || Figure::Rate("req/s");
        let name = "list of 100, 64 clients, PostgreSQL";
        let counted = Target::AtLeast(0.6);
        Ok(vec![
            Row::compare(name, rate(), &postgres, ("SQLite and memory", &sqlite), counted),
            Row::compare(
                format!("{name}, each check a commit"),
                rate(),
                &confirmed,
                ("without", &postgres),
                Target::None,
            ),
            Row::compare(
                "401, each with another key, 64 clients, PostgreSQL",
                rate(),
                &postgres_401,
                ("SQLite", &sqlite_401),
                Target::None,
            ),
        ])
    }

    fn client(&self, program: &str) -> Command {
        let mut command = self.installed.client(program);
        let port = self.postgres.port.to_string();
        command.args(["-h", "127.0.0.1", "-p", &port, "-U", USER]).current_dir(self.cluster.path());
        command
    }
}

impl Store {
    fn serve(&self, flags: &[&str]) -> anyhow::Result<MeasuredServer> {
        MeasuredServer::serve(self.side, &self.data, flags, None)
    }

    /// This store for another replica.
    fn for_another(&self, setup: &mut BenchSetup) -> anyhow::Result<Store> {
        let url = self.data.store().context("the store has a URL")?.to_string();
        let directory = setup.new_directory()?;
        let data = DataDir::on_store(setup.program(), &directory, &url);
        Ok(Store { data, key: self.key.clone(), side: self.side })
    }
}

/// As many clients for each server as there are for one alone.
fn all_at_once(
    setup: &BenchSetup,
    servers: &[MeasuredServer],
    work: &Work,
) -> anyhow::Result<Sample> {
    let (span, status, connections) = (setup.span, 204, CLIENTS);
    std::thread::scope(|scope| {
        let run = |server: &MeasuredServer| {
            let address = server.address;
            let load = Load { address, connections, span, work, status, stop: None };
            scope.spawn(move || load::run(&load))
        };
        let threads: Vec<_> = servers.iter().map(run).collect();
        let mut answers = 0;
        for thread in threads {
            let outcome = thread.join().map_err(|_| anyhow::anyhow!("a load panicked"))??;
            answers += outcome.answers;
        }
        Ok(Sample::counted(answers, span.as_secs_f64()))
    })
}
