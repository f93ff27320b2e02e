//! `serve`: runs a server on the store that the settings name.

mod preflight;
mod process;
mod secret_files;
mod served_store;
mod signals;
mod systemd;

pub use preflight::check_settings;
pub use process::run;
pub use served_store::ServedStore;
pub use signals::{EndedBySignal, HangUp, Signals, ignore_hang_up};

use crate::blocking;
use crate::clock::SystemClock;
use crate::config::{
    EffectiveSettings, ServerConfig, StoreLocation, StoreSettings, unknown_variables,
};
use crate::server::Server;
use crate::store::postgres::{PostgresStore, SILENT_FOR};
use crate::store::sqlite::{self, ServerLock, SqliteStore};
use secret_files::{secret_files, warn_of_readable};
use slog::{Logger, info, warn};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Serves the store until a signal stops the server. Locks the data directory of an embedded store,
/// so that the store has only one server.
pub fn serve(
    store: &StoreSettings,
    config: &ServerConfig,
    effective: &EffectiveSettings,
) -> anyhow::Result<()> {
    let location = &store.location()?;
    let secrets = secret_files(store, config, effective);
    let lock = match location {
        StoreLocation::Directory(directory) => Some(ServerLock::take(directory)?),
        StoreLocation::Postgres(_) => None,
    };
    let confirms = config.confirm_lists;
    let unauthenticated_per_minute = config.unauthenticated_per_minute;
    let open = async |clock: Arc<SystemClock>, log: &Logger| {
        if let Some(variables) = unknown_variables() {
            warn!(log, "unknown settings in the environment ignored"; "variables" => variables);
        }
        warn_of_readable(&secrets, log);
        match location {
            StoreLocation::Directory(directory) => {
                let (directory, log) = (directory.clone(), log.clone());
                // Open the store on another thread, because a migration or a hanging disk must not
                // delay signals.
                blocking::run(move || {
                    let is_new = !sqlite::exists(&directory)?;
                    let store = SqliteStore::open(&directory)?;
                    if is_new {
                        info!(log, "new store created"; "directory" => %directory.display());
                    }
                    ServedStore::embedded(store, unauthenticated_per_minute, clock, &log)
                })
                .await
            }
            StoreLocation::Postgres(url) => {
                let url = (**url).clone();
                let store = PostgresStore::open(url, confirms, SILENT_FOR, log.clone()).await?;
                Ok(ServedStore::shared(store, unauthenticated_per_minute, log))
            }
        }
    };
    run(open, config.clone(), HangUp::Reloads, |server| {
        if let Some(lock) = &lock {
            lock.record_addresses(server.address(), server.admin_address())?;
        }
        announce(server)
    })
}

/// Prints the addresses without a buffer. A buffer would keep the text of a failed write, and the
/// program would write the text again at its exit.
fn announce(server: &Server) -> std::io::Result<()> {
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    if let Some(address) = server.admin_address() {
        writeln!(out, "admin listener on http://{address}")?;
    }
    writeln!(out, "listening on {}", server.url())
}
