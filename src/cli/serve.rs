//! `serve`: the server on a store of the operator's.

mod process;
mod signals;

pub use process::run;
pub use signals::HangUp;

use crate::config::{InForce, ServerConfig};
use crate::server::{Server, StartError};
use crate::store::StoreError;
use crate::store::sqlite::{LockError, ServerLock, SqliteStore};
use signals::Stop;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Why the server did not run to a clean end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another server has the store.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The server could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The system refused a thread, a signal or a file.
    #[error("{doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A second signal came while it stopped.
    #[error("told a second time to stop, and stopped with requests under way")]
    CutShort(Stop),
}

impl ServeError {
    /// The status to exit with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            ServeError::CutShort(stop) => ExitCode::from(stop.exit_status()),
            _ => ExitCode::FAILURE,
        }
    }
}

/// Serves the store of this directory until it is told to stop.
pub fn serve(
    data_dir: &Path,
    config: &ServerConfig,
    in_force: &InForce,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let mut lock = ServerLock::take(data_dir)?;
    let store = SqliteStore::open(data_dir)?;
    let mut config = config.clone();
    if in_force.is_default("admin_listen") {
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
