//! `serve`: the server on the operator's store.

mod error;
mod process;
mod signals;
mod systemd;

pub use error::ServeError;
pub use process::run;
pub use signals::{HangUp, Signals, StopSignal};

use crate::config::{EffectiveSettings, ServerConfig};
use crate::server::Server;
use crate::store::sqlite::{ServerLock, SqliteStore};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

/// Serves the store in this directory until a signal stops it.
pub fn serve(
    data_dir: &Path,
    config: &ServerConfig,
    effective: &EffectiveSettings,
) -> Result<(), ServeError> {
    let mut lock = ServerLock::take(data_dir)?;
    let store = SqliteStore::open(data_dir)?;
    let mut config = config.clone();
    if effective.is_default("admin_listen") {
        config.admin_listen = config.admin_listen.if_free();
    }
    run(store, config, HangUp::Reloads, |server| {
        lock.record_address(server.address())?;
        announce(server)
    })
}

/// Without the buffers that other commands print through: what cannot be written would
/// be tried again at the exit.
fn announce(server: &Server) -> std::io::Result<()> {
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    if let Some(address) = server.admin_address() {
        writeln!(out, "operators on http://{address}")?;
    }
    writeln!(out, "listening on {}", server.url())
}
