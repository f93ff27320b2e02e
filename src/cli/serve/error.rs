//! Why a server did not start or did not stop cleanly.

use super::signals::StopSignal;
use crate::server::StartError;
use crate::store::StoreError;
use crate::store::sqlite::LockError;
use std::process::ExitCode;

/// Why a server did not run to a clean end.
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
        /// What failed.
        doing: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A second signal came while the server was stopping.
    #[error("a second signal stopped the server{}", cut_off(*.connections))]
    StoppedAtOnce {
        /// The second signal.
        signal: StopSignal,
        /// How many connections still had a request in progress.
        connections: usize,
    },
}

impl ServeError {
    /// The status to exit with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            ServeError::StoppedAtOnce { signal, .. } => ExitCode::from(signal.exit_status()),
            _ => ExitCode::FAILURE,
        }
    }
}

fn cut_off(connections: usize) -> String {
    match connections {
        0 => String::new(),
        1 => " with requests in progress on 1 connection".to_string(),
        several => format!(" with requests in progress on {several} connections"),
    }
}
