//! What every part needs: the programs, their stores with orders and keys, and their servers.

use crate::connection::{Connection, block_on};
use crate::load::{Load, request};
use crate::machine::on_served_core;
use crate::rounds::{Builds, Turn, Work, compare, loading};
use crate::table::{Row, Target, Unit};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use testbed::{DataDir, Program, ServerProcess};

/// The path of the list.
pub const LIST: &str = "/v1/store/orders";

/// Requests without a key are never limited: the generator has one address.
const NO_KEYLESS_LIMIT: [&str; 2] = ["--keyless-per-minute", "4294967295"];

/// How and what to measure.
pub struct Setup {
    /// How many rounds, after one that is not counted.
    pub rounds: u16,
    /// How long a closed loop runs in a round.
    pub span: Duration,
    pub programs: Builds<Program>,
    pub directory: TempDir,
}

/// A store, and where its server keeps the rest.
#[derive(Debug)]
pub struct Store {
    pub data: DataDir,
    /// A key that no limit holds up.
    pub key: String,
    /// A key of an account that may send nothing: 429 always.
    pub limited_key: String,
}

/// A store and its server.
#[derive(Debug)]
pub struct Served {
    pub store: Store,
    pub server: ServerProcess,
}

impl Setup {
    /// A new empty directory.
    pub fn new_directory(&self) -> anyhow::Result<PathBuf> {
        Ok(tempfile::tempdir_in(self.directory.path())?.keep())
    }

    /// A directory for a server of this program, on the store at this URL if it is not in there.
    pub fn data(&self, program: &Program, url: Option<&str>) -> anyhow::Result<DataDir> {
        let directory = self.new_directory()?;
        Ok(match url {
            Some(url) => DataDir::on_store(program, &directory, url),
            None => DataDir::at(program, &directory),
        })
    }

    /// A new store with pending orders of the ids 1 to `orders`, at this URL or in its directory.
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

    /// A server of each build with a new embedded store.
    pub fn embedded(&self, orders: u64) -> anyhow::Result<Builds<Served>> {
        self.programs.map(|program| self.store(program, None, orders)?.serve())
    }

    /// Answers a second of each build under its load, compared with a baseline.
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
            builds.map(|build| Ok(loading(&build.server, load(&build.store), self.span)))?;
        compare(self.rounds, work, turns, baseline_name, baseline)
    }
}

impl Builds<Store> {
    /// Serves each.
    pub fn into_served(self) -> anyhow::Result<Builds<Served>> {
        Ok(Builds { own: self.own.serve()?, other: self.other.map(Store::serve).transpose()? })
    }
}

impl Store {
    pub fn serve(self) -> anyhow::Result<Served> {
        Ok(Served { server: serve(&self.data)?, store: self })
    }
}

/// Serves a data directory on the served side's core.
pub fn serve(data: &DataDir) -> anyhow::Result<ServerProcess> {
    on_served_core(|| data.serve(&NO_KEYLESS_LIMIT))
}

/// The body of the answer of this status to a GET.
pub fn body_of(
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

/// Cancels of these orders, each once.
pub fn cancels(clients: usize, ids: std::ops::Range<u64>, key: &str) -> Load {
    let key = key.to_string();
    let cancel = move |id| request("DELETE", &format!("{LIST}/{id}"), &key);
    Load { clients, status: 204, requests: Box::new(ids.map(cancel)) }
}

/// Orders as a customer's might be.
fn csv(orders: u64) -> String {
    let order = |id| {
        let (pet, quantity, day) = (100_000 + id * 7_919 % 900_000, 1 + id % 5, 1 + id % 28);
        format!("{id},{pet},{quantity},2026-12-{day:02}T09:30:00Z\n")
    };
    let header = "id,petId,quantity,shipDate\n".to_string();
    std::iter::once(header).chain((1..=orders).map(order)).collect()
}
