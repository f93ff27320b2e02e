//! The connection of one command, which a runtime of its own drives.

use super::connecting::{Connection, connect};
use super::error::read;
use crate::config::PostgresUrl;
use crate::store::StoreError;
use crate::store::rules::COMMAND_TIMEOUT;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How long a command waits for each address of the store's hosts.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long its transaction may lie idle before the server takes it back, with its locks: a
/// command that is suspended or out of reach must not hold up cancellations. A command at work
/// sends its next statement at once; while it copies rows, it is not idle.
const IDLE_LIMIT: Duration = Duration::from_secs(20);

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
        let connected = runtime.block_on(connect(url, "store-orders command", CONNECT_LIMIT));
        let connection = connected.map_err(|error| failed(error.into()))?;
        // An import takes as long as it takes; only locks are waited for within a limit.
        let session = format!(
            "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = {};
             SET lock_timeout = {}; SET jit = off; SET synchronous_commit = on",
            IDLE_LIMIT.as_millis(),
            COMMAND_TIMEOUT.as_millis()
        );
        runtime.block_on(connection.client.batch_execute(&session)).map_err(read)?;
        Ok(CommandConnection { runtime, connection })
    }
}
