//! What every measurement stands on: the programs, the directories, the stores
//! with their orders and keys, and the length of a round.

use super::server::{Program, Running};
use anyhow::{Context, bail};
use rusqlite::{Connection, params};
use serde::Deserialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The largest limit there is: no measurement runs into it.
const NO_LIMIT: &str = "4294967295";
/// Where a store keeps its rows in its directory.
const STORE: &str = "store.sqlite";

/// What every measurement stands on.
pub struct Ground {
    /// The release server.
    pub program: Program,
    /// How many rounds, after one that is not counted.
    pub rounds: usize,
    /// How long a closed loop runs in a round.
    pub span: Duration,
    directory: TempDir,
    made: usize,
}

/// A data directory and its keys.
#[derive(Clone, Debug)]
pub struct Store {
    /// The data directory.
    pub directory: PathBuf,
    /// A key that no limit refuses.
    pub key: String,
    /// A key of an account that may send nothing: 429 always.
    pub limited_key: String,
}

#[derive(Deserialize)]
struct Issued {
    key: String,
}

impl Ground {
    /// Stands on the programs of this `target/release`. Stores are made beside
    /// them, on the disk that the project is on.
    pub fn new(release: &Path, rounds: usize, span: Duration) -> anyhow::Result<Ground> {
        let path = release.join("store-orders");
        if !path.is_file() {
            bail!("{} is missing: cargo build --release", path.display());
        }
        let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(release)?;
        Ok(Ground { program: Program { path }, rounds, span, directory, made: 0 })
    }

    /// A new empty directory.
    pub fn new_directory(&mut self) -> anyhow::Result<PathBuf> {
        self.made += 1;
        let path = self.directory.path().join(self.made.to_string());
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    /// A store of its own for one measurement with so many pending orders,
    /// numbered from 1. The first of each size is imported, the others are
    /// copies.
    pub fn store(&mut self, orders: u64) -> anyhow::Result<Store> {
        let original = self.directory.path().join(format!("{orders}-orders"));
        let (key_file, limited_file) = (original.join("key"), original.join("limited-key"));
        if !original.exists() {
            std::fs::create_dir(&original)?;
            self.import(&original, orders)?;
            std::fs::write(&key_file, self.issue(&original, "bench", NO_LIMIT)?)?;
            std::fs::write(&limited_file, self.issue(&original, "limited", "0")?)?;
        }
        let directory = self.new_directory()?;
        std::fs::copy(original.join(STORE), directory.join(STORE))?;
        let key = std::fs::read_to_string(key_file)?;
        Ok(Store { directory, key, limited_key: std::fs::read_to_string(limited_file)? })
    }

    fn import(&self, directory: &Path, orders: u64) -> anyhow::Result<()> {
        let file = directory.join("orders.ndjson");
        let mut lines = std::io::BufWriter::new(std::fs::File::create(&file)?);
        for id in 1..=orders {
            writeln!(lines, "{}", order(id))?;
        }
        lines.into_inner().map_err(|error| error.into_error())?;
        let name = file.to_string_lossy();
        self.program.run(directory, &["orders", "import", &name])?;
        Ok(std::fs::remove_file(&file)?)
    }

    fn issue(&self, directory: &Path, account: &str, limit: &str) -> anyhow::Result<String> {
        let limits = ["--per-minute", limit, "--per-day", limit];
        let create = ["accounts", "create", account, "--plan", "enterprise"];
        self.program.run(directory, &[&create[..], &limits[..]].concat())?;
        let issued =
            self.program.run(directory, &["keys", "issue", "--account", account, "--json"])?;
        let issued: Issued = serde_json::from_str(&issued).context("`keys issue --json`")?;
        Ok(issued.key)
    }

    /// Serves a store.
    pub fn serve(&self, store: &Store) -> anyhow::Result<Running> {
        self.program.serve(&store.directory, &[], None)
    }
}

impl Store {
    /// The file with its rows.
    pub fn file(&self) -> PathBuf {
        self.directory.join(STORE)
    }

    /// Cancels all orders behind this id in one transaction, as another process
    /// would.
    pub fn cancel_behind(&self, id: i64) -> anyhow::Result<()> {
        let mut connection = self.connect()?;
        let transaction = connection.transaction()?;
        transaction.execute("UPDATE versions SET orders = orders + 1", [])?;
        transaction.execute(
            "UPDATE orders SET status = 'cancelled', cancelled_by = 'key_bench',
                    cancelled_at = '2026-01-01T00:00:00.000Z',
                    version = (SELECT orders FROM versions)
             WHERE id > ?1 AND status = 'pending'",
            [id],
        )?;
        Ok(transaction.commit()?)
    }

    /// Adds a pending order of this and every id up to `last`.
    pub fn add_orders(&self, first: i64, last: i64) -> anyhow::Result<()> {
        let mut connection = self.connect()?;
        let transaction = connection.transaction()?;
        transaction.execute("UPDATE versions SET orders = orders + 1", [])?;
        for id in first..=last {
            let date = "2026-12-24T09:30:00Z";
            transaction
                .prepare_cached(
                    "INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, version)
                     SELECT ?1, ?2, 1, ?3, 0, 'pending', orders FROM versions",
                )?
                .execute(params![id, 100_000 + id % 900_000, date])?;
        }
        Ok(transaction.commit()?)
    }

    fn connect(&self) -> anyhow::Result<Connection> {
        let connection = Connection::open(self.file())?;
        connection.busy_timeout(Duration::from_secs(10))?;
        Ok(connection)
    }
}

/// An order as a customer's might be: most have a date.
fn order(id: u64) -> String {
    let pet = 100_000 + (id * 7_919) % 900_000;
    let quantity = 1 + id % 5;
    let complete = id.is_multiple_of(4);
    let date = match id % 3 {
        0 => String::new(),
        _ => format!(r#""shipDate":"2026-{:02}-{:02}T09:30:00Z","#, 1 + id % 12, 1 + id % 28),
    };
    format!(r#"{{"id":{id},"petId":{pet},"quantity":{quantity},{date}"complete":{complete}}}"#)
}

/// A request as the generator sends it.
pub fn request(method: &str, path: &str, key: Option<&str>, gzip: bool) -> Vec<u8> {
    let authorization = key.map(|key| format!("Authorization: Bearer {key}\r\n"));
    let encoding = if gzip { "Accept-Encoding: gzip\r\n" } else { "" };
    let authorization = authorization.unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}{encoding}\r\n")
        .into_bytes()
}

/// What must be there before anything is started.
pub fn check_tools() -> anyhow::Result<()> {
    let cc = Command::new("cc").arg("--version").output();
    cc.context("a C compiler is missing: apt-get install gcc")?;
    super::floors::nginx_program().context("nginx is missing: apt-get install nginx-light")?;
    let sqlite = Command::new("sqlite3").arg("--version").output();
    sqlite.context("sqlite3 is missing: apt-get install sqlite3")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_json_and_requests_end() {
        for id in 1..30 {
            let order: serde_json::Value = serde_json::from_str(&order(id)).unwrap();
            assert_eq!(order["id"], id);
        }
        let request = request("GET", "/v1/x", Some("k"), true);
        let text = String::from_utf8(request).unwrap();
        assert!(text.contains("\r\nAuthorization: Bearer k\r\n") && text.ends_with("\r\n\r\n"));
    }
}
