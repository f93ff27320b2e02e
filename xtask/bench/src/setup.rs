//! Creates stores with orders and keys, and starts the servers that the benchmark measures.

use crate::connection::{Connection, block_on};
use crate::load::{Load, request};
use crate::machine::on_served_core;
use crate::rounds::{Builds, Turn, Work, compare, load_turn};
use crate::table::{Row, Target, Unit};
use anyhow::ensure;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use testbed::{DataDir, Preload, Program, ServerProcess};

pub const LIST: &str = "/v1/store/orders";

/// Disables the limit on requests without a valid key. With the default limit, most 401s would
/// become 429s, because all requests come from one address.
const NO_UNAUTHENTICATED_LIMIT: [&str; 2] = ["--unauthenticated-per-minute", "4294967295"];

pub struct Setup {
    /// The number of measured rounds. Before them, one more round only warms up.
    pub rounds: u16,
    /// How long each closed loop runs in a round.
    pub loop_time: Duration,
    pub programs: Builds<Program>,
    pub directory: TempDir,
}

#[derive(Debug)]
pub struct Store {
    pub data: DataDir,
    /// A key of an account whose limits are too high to reach.
    pub key: String,
    /// A key of an account whose limits are 0, so every response is a 429.
    pub limited_key: String,
}

#[derive(Debug)]
pub struct Served {
    pub store: Store,
    pub server: ServerProcess,
}

impl Setup {
    pub fn new_directory(&self) -> anyhow::Result<PathBuf> {
        Ok(tempfile::tempdir_in(self.directory.path())?.keep())
    }

    pub fn data(&self, program: &Program, url: Option<&str>) -> anyhow::Result<DataDir> {
        let directory = self.new_directory()?;
        Ok(match url {
            Some(url) => DataDir::on_store(program, &directory, url),
            None => DataDir::at(program, &directory),
        })
    }

    /// Creates a store with the pending orders 1 to `orders`. The store is at `url`, or in a new
    /// directory if `url` is `None`.
    pub fn store(
        &self,
        program: &Program,
        url: Option<&str>,
        orders: u64,
    ) -> anyhow::Result<Store> {
        let data = self.data(program, url)?;
        if url.is_some() {
            data.run(&["migrate"])?;
        }
        data.run_with_input(&["orders", "import", "-"], csv(orders).as_bytes())?;
        let key = data.issue_enterprise_key("bench", u32::MAX, u32::MAX)?.text;
        let limited_key = data.issue_enterprise_key("limited", 0, 0)?.text;
        Ok(Store { data, key, limited_key })
    }

    /// Starts one server for each build. Each server has its own new embedded store.
    pub fn embedded(&self, orders: u64) -> anyhow::Result<Builds<Served>> {
        self.embedded_with(orders, None)
    }

    pub fn embedded_with(
        &self,
        orders: u64,
        preload: Option<&Preload>,
    ) -> anyhow::Result<Builds<Served>> {
        self.programs.map(|program| self.store(program, None, orders)?.serve_with(preload))
    }

    /// Measures the responses per second of each build under a load, and compares them with a
    /// baseline.
    pub fn rates(
        &self,
        name: impl Into<String>,
        target: Target,
        builds: &Builds<Served>,
        load: impl Fn(&Store) -> Load,
        (baseline_name, baseline): (&str, Turn<'_>),
    ) -> anyhow::Result<Vec<Row>> {
        let work = Work { name: name.into(), unit: Unit::PerSecond, target };
        let turns =
            builds.map(|build| Ok(load_turn(&build.server, load(&build.store), self.loop_time)))?;
        compare(self.rounds, work, turns, baseline_name, baseline)
    }
}

impl Builds<Store> {
    pub fn into_served(self) -> anyhow::Result<Builds<Served>> {
        Ok(Builds { this: self.this.serve()?, other: self.other.map(Store::serve).transpose()? })
    }
}

impl Store {
    pub fn serve(self) -> anyhow::Result<Served> {
        self.serve_with(None)
    }

    fn serve_with(self, preload: Option<&Preload>) -> anyhow::Result<Served> {
        Ok(Served { server: serve_with(&self.data, preload)?, store: self })
    }
}

pub fn serve(data: &DataDir) -> anyhow::Result<ServerProcess> {
    serve_with(data, None)
}

fn serve_with(data: &DataDir, preload: Option<&Preload>) -> anyhow::Result<ServerProcess> {
    let mut command = data.command();
    if let Some(preload) = preload {
        preload.put_into(&mut command);
    }
    let server = on_served_core(|| data.start(&mut command, &NO_UNAUTHENTICATED_LIMIT))?;
    if let Some(preload) = preload {
        let pid = server.process().pid()?.as_raw_nonzero();
        let loaded = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let is_loaded = preload.library().to_str().is_some_and(|library| loaded.contains(library));
        ensure!(is_loaded, "a statically linked program cannot be measured with a fixed fsync");
    }
    Ok(server)
}

pub fn fetch_body(
    server: &ServerProcess,
    path: &str,
    key: &str,
    status: u16,
) -> anyhow::Result<Vec<u8>> {
    block_on(async {
        let (mut connection, mut body) = (Connection::open(server.address()?).await?, Vec::new());
        let keep = |part: &[u8]| body.extend_from_slice(part);
        connection.exchange(&request("GET", path, key), status, keep).await?;
        Ok(body)
    })
}

pub fn cancels(clients: usize, ids: std::ops::Range<u64>, key: &str) -> Load {
    let key = key.to_string();
    let cancel = move |id| request("DELETE", &format!("{LIST}/{id}"), &key);
    Load { clients, status: 204, requests: Box::new(ids.map(cancel)) }
}

fn csv(orders: u64) -> String {
    let order = |id| {
        let (pet, quantity, day) = (100_000 + id * 7_919 % 900_000, 1 + id % 5, 1 + id % 28);
        format!("{id},{pet},{quantity},2026-12-{day:02}T09:30:00Z\n")
    };
    let header = "id,petId,quantity,shipDate\n".to_string();
    std::iter::once(header).chain((1..=orders).map(order)).collect()
}
