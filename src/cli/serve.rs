//! `serve`: the server on a store of the operator's.

mod process;
mod signals;

pub use process::{Running, run};

use crate::config::{AdminListen, InForce, ServerSettings};
use crate::front_door::TrustedProxies;
use crate::server::{OperatorsListen, Server, ServerConfig, StartError, TlsFiles};
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
    settings: &ServerSettings,
    in_force: &InForce,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let mut lock = ServerLock::take(data_dir)?;
    let store = SqliteStore::open(data_dir)?;
    let running = Running {
        config: server_config(settings, in_force),
        keyless_per_minute: settings.keyless_per_minute,
        log_level: settings.log_level,
        stop_within: settings.stop_within,
        ends_with_its_terminal: false,
    };
    run(store, running, |server| {
        lock.note_address(server.address())?;
        announce(server, out)
    })
}

fn server_config(settings: &ServerSettings, in_force: &InForce) -> ServerConfig {
    let operators = match settings.admin_listen {
        AdminListen::Off => OperatorsListen::Off,
        AdminListen::At(address) if in_force.is_default("admin_listen") => {
            OperatorsListen::IfFree(address)
        }
        AdminListen::At(address) => OperatorsListen::At(address),
    };
    let files = settings.tls_cert.clone().zip(settings.tls_key.clone());
    ServerConfig {
        listen: settings.listen,
        environment: settings.environment,
        proxies: TrustedProxies::new(settings.trusted_proxies.clone()),
        stalled_after: settings.stalled_after,
        drain: process::drain_within(settings.stop_within),
        tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
        operators,
    }
}

fn announce(server: &Server, out: &mut dyn Write) -> std::io::Result<()> {
    if let Some(address) = server.operators_address() {
        writeln!(out, "operators on http://{address}")?;
    }
    writeln!(out, "listening on {}", server.url())?;
    out.flush()
}
