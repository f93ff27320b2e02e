//! Defines the global options, and opens the store and the request counts that the options select.

use crate::config::{StoreLocation, StoreSettings};
use crate::rate_limiter::{CountsFileReport, CountsReport};
use crate::store::postgres::{PostgresCountsReport, PostgresOperatorStore};
use crate::store::sqlite::{self, SqliteStore};
use crate::store::{OperatorStore, StoreError};
use clap::Args;
use std::path::{Path, PathBuf};

const GLOBAL: &str = "Global options";

/// If a command with this niceness competes with a server for a CPU, the server gets nine tenths of
/// the CPU's time.
const LOWER_PRIORITY_NICENESS: i32 = 10;

#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten, next_help_heading = GLOBAL)]
    pub store: StoreSettings,
    /// TOML file with settings; `config default` prints a template
    #[arg(long, global = true, value_name = "FILE", env, help_heading = GLOBAL)]
    pub config: Option<PathBuf>,
    /// Write JSON to standard output instead of text
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
}

impl Options {
    /// Lowers the priority of this command if the store is in PostgreSQL, so that servers on this
    /// machine get the CPU first. With an embedded store, the priority stays, because the command
    /// may hold a lock for which a server waits.
    pub fn lower_priority(&self) {
        if self.store.store.is_some() {
            // If the call fails, the command keeps its usual priority.
            let _ = rustix::process::nice(LOWER_PRIORITY_NICENESS);
        }
    }

    /// Opens the store, which must exist.
    pub fn open_store(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        self.open(SqliteStore::open_existing)
    }

    /// Opens the store, or creates a missing store in the data directory. A store in PostgreSQL
    /// must exist, because only `migrate` creates it.
    pub fn open_or_create_store(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        self.open(SqliteStore::open_for_command)
    }

    /// Returns the data directory if it contains no store yet. Returns `None` if the store exists
    /// or is in PostgreSQL.
    pub fn directory_without_store(&self) -> anyhow::Result<Option<PathBuf>> {
        match self.store.location()? {
            StoreLocation::Directory(directory) if !sqlite::exists(&directory)? => {
                Ok(Some(std::path::absolute(&directory).unwrap_or(directory)))
            }
            StoreLocation::Directory(_) | StoreLocation::Postgres(_) => Ok(None),
        }
    }

    fn open(
        &self,
        open: fn(&Path) -> Result<SqliteStore, StoreError>,
    ) -> anyhow::Result<Box<dyn OperatorStore>> {
        let directory = match &self.store.location()? {
            StoreLocation::Directory(directory) => directory.clone(),
            StoreLocation::Postgres(url) => {
                return Ok(Box::new(PostgresOperatorStore::connect(url)?));
            }
        };
        Ok(Box::new(open(&directory)?))
    }

    /// Opens the request counts. In PostgreSQL, the counts have a separate database in the store's
    /// cluster.
    pub fn open_counts_report(
        &self,
        store: &dyn OperatorStore,
    ) -> anyhow::Result<Box<dyn CountsReport>> {
        Ok(match self.store.location()? {
            StoreLocation::Postgres(url) => Box::new(PostgresCountsReport::open(&url)?),
            StoreLocation::Directory(directory) => {
                Box::new(CountsFileReport::open(&directory, &store.id()?)?)
            }
        })
    }
}
