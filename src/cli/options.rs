//! The options of every command.

use crate::clock::{Clock, SystemClock};
use crate::config::StoreSettings;
use crate::limits::{LimitsFileReport, LimitsReport};
use crate::store::sqlite::SqliteStore;
use clap::Args;
use std::path::PathBuf;

/// The options of every command.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    pub store: StoreSettings,
    /// A TOML file with settings; see `config default`
    #[arg(long, global = true, value_name = "FILE", env = "STORE_ORDERS_CONFIG")]
    pub config: Option<PathBuf>,
    /// Write JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
}

impl Options {
    /// Opens the store in the data directory.
    pub fn open_store(&self) -> anyhow::Result<SqliteStore> {
        let directory = &self.store.data_dir;
        if directory.exists() && !directory.is_dir() {
            anyhow::bail!(
                "cannot use the data directory {}: it is a file; choose another --data-dir",
                directory.display()
            );
        }
        Ok(SqliteStore::open(directory)?)
    }

    /// Opens what was counted of the requests to this store; `clock` must give the time to
    /// the report.
    pub fn open_limits_report(
        &self,
        store: &SqliteStore,
        clock: &SystemClock,
    ) -> anyhow::Result<Box<dyn LimitsReport>> {
        let directory = &self.store.data_dir;
        Ok(Box::new(LimitsFileReport::open(directory, &store.id()?, clock.boot())?))
    }
}
