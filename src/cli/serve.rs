//! `serve`: the server on the operator's store.

mod error;
mod process;
mod signals;

pub use error::ServeError;
pub use process::run;
pub use signals::{HangUp, Signals, StopSignal};

use crate::config::{EffectiveSettings, ServerConfig};
use crate::server::Server;
use crate::store::sqlite::{ServerLock, SqliteStore};
use std::io::Write;
use std::path::Path;

/// Serves the store in this directory until a signal stops it.
pub fn serve(
    data_dir: &Path,
    config: &ServerConfig,
    effective: &EffectiveSettings,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let mut lock = ServerLock::take(data_dir)?;
    let store = SqliteStore::open(data_dir)?;
    let mut config = config.clone();
    if effective.is_default("admin_listen") {
        config.admin_listen = config.admin_listen.if_free();
    }
    run(store, config, HangUp::Reloads, |server| {
        lock.record_address(server.address())?;
        announce(server, out)
    })
}

fn announce(server: &Server, out: &mut dyn Write) -> std::io::Result<()> {
    if let Some(address) = server.admin_address() {
        writeln!(out, "operators on http://{address}")?;
    }
    writeln!(out, "listening on {}", server.url())?;
    out.flush()
}
