//! The options of every command.

use crate::config::StoreSettings;
use crate::store::sqlite::SqliteStore;
use clap::Args;
use std::io::Write;
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
        Ok(SqliteStore::open_for_command(directory, say_waiting)?)
    }
}

fn say_waiting() {
    // If standard error is closed, the wait is as long.
    let _ = writeln!(anstream::stderr(), "waiting for the server or another command to write");
}
