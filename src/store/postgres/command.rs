//! The connection of one command, which a runtime of its own drives.

use super::connecting::{Connection, connect};
use super::settings::COMMAND;
use crate::config::PostgresUrl;
use crate::store::StoreError;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How long a command waits for each address of the store's hosts.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A connection, and what drives it while something is asked of it.
pub struct CommandConnection {
    /// A current-thread runtime.
    pub runtime: Runtime,
    /// What sends statements.
    pub connection: Connection,
}

impl CommandConnection {
    /// Connects to the primary of this store.
    pub fn open(url: &PostgresUrl) -> Result<CommandConnection, StoreError> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| StoreError::Engine {
            doing: "reached",
            source: error,
        };
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|e| failed(e.into()))?;
        let connected = runtime.block_on(connect(url, &COMMAND, CONNECT_LIMIT));
        let connection = connected.map_err(|error| failed(error.into()))?;
        Ok(CommandConnection { runtime, connection })
    }
}
