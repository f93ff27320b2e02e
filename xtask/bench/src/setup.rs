//! What every measurement needs: directories, stores with orders and keys, the
//! number of rounds and the length of one.

use crate::machine::Side;
use crate::server::MeasuredServer;
use anyhow::Context;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use testbed::{DataDir, Program};

/// The file of a data directory that holds the orders.
const STORE_FILE: &str = "store.sqlite";
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// What every measurement needs.
pub struct BenchSetup {
    /// How many rounds, after one that is not counted.
    pub rounds: usize,
    /// How long a closed loop runs in a round.
    pub span: Duration,
    program: Program,
    directory: TempDir,
    directories: usize,
}

/// A data directory and its keys.
#[derive(Debug)]
pub struct Store {
    pub data: DataDir,
    /// A key that no limit holds up.
    pub key: String,
    /// A key of an account that may send nothing: 429 always.
    pub limited_key: String,
}

impl BenchSetup {
    /// Stores of this program are created next to the benchmark, on the project's
    /// disk.
    pub fn new(program: Program, rounds: usize, span: Duration) -> anyhow::Result<BenchSetup> {
        let own = std::env::current_exe()?;
        let directory = own.parent().context("the benchmark is in no directory")?;
        let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(directory)?;
        Ok(BenchSetup { rounds, span, program, directory, directories: 0 })
    }

    /// The program that is measured.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A new empty directory.
    pub fn new_directory(&mut self) -> anyhow::Result<PathBuf> {
        self.directories += 1;
        let path = self.directory.path().join(self.directories.to_string());
        std::fs::create_dir(&path)?;
        Ok(path)
    }

    /// A store for one measurement with pending orders of the ids 1 to `orders`.
    /// The first of each size is imported, the others are copies.
    pub fn store(&mut self, orders: u64) -> anyhow::Result<Store> {
        let original = self.directory.path().join(format!("{orders}-orders"));
        let (key_file, limited_file) = (original.join("key"), original.join("limited-key"));
        if !original.exists() {
            std::fs::create_dir(&original)?;
            let data = DataDir::at(&self.program, &original);
            let lines: String = (1..=orders).map(|id| order(id) + "\n").collect();
            data.run_with_input(&["orders", "import", "-"], lines.as_bytes())?;
            std::fs::write(
                &key_file,
                data.issue_enterprise_key("bench", u32::MAX, u32::MAX)?.text,
            )?;
            std::fs::write(&limited_file, data.issue_enterprise_key("limited", 0, 0)?.text)?;
        }
        let directory = self.new_directory()?;
        std::fs::copy(original.join(STORE_FILE), directory.join(STORE_FILE))?;
        Ok(Store {
            data: DataDir::at(&self.program, &directory),
            key: std::fs::read_to_string(key_file)?,
            limited_key: std::fs::read_to_string(limited_file)?,
        })
    }
}

impl Store {
    /// Serves it.
    pub fn serve(&self) -> anyhow::Result<MeasuredServer> {
        MeasuredServer::serve(Side::Served, &self.data, &[], None)
    }

    /// The file with its rows.
    pub fn file(&self) -> PathBuf {
        self.data.path().join(STORE_FILE)
    }

    /// Gives the orders to these many pets in turn: before it is served.
    pub fn divide_among_pets(&self, pets: i64) -> anyhow::Result<()> {
        connect(&self.file())?.execute("UPDATE orders SET pet_id = id % ?1", [pets])?;
        Ok(())
    }

    /// Adds pending orders of these ids.
    pub fn add_orders(&self, first: i64, last: i64) -> anyhow::Result<()> {
        let mut connection = connect(&self.file())?;
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
}

fn connect(file: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// An order as a customer's might be: most have a date.
pub fn order(id: u64) -> String {
    let pet = 100_000 + (id * 7_919) % 900_000;
    let quantity = 1 + id % 5;
    let complete = id.is_multiple_of(4);
    let date = match id % 3 {
        0 => String::new(),
        _ => format!(r#""shipDate":"2026-{:02}-{:02}T09:30:00Z","#, 1 + id % 12, 1 + id % 28),
    };
    format!(r#"{{"id":{id},"petId":{pet},"quantity":{quantity},{date}"complete":{complete}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_json() {
        for id in 1..30 {
            let order: serde_json::Value = serde_json::from_str(&order(id)).unwrap();
            assert_eq!(order["id"], id);
        }
    }
}
