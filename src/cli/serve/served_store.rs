//! The store that a server serves, and the limits that belong to its engine.

use crate::clock::SystemClock;
use crate::config::ServerConfig;
use crate::limits::{InMemoryLimits, Limits, LimitsFile, LimitsPersister};
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::store::{OperatorStore, Store};
use anyhow::Context;
use slog::Logger;
use std::path::Path;
use std::sync::Arc;

/// A store, opened for a server.
#[derive(Clone)]
pub enum ServedStore {
    /// In its data directory.
    Sqlite(Arc<SqliteStore>),
    /// In PostgreSQL.
    Postgres(Arc<PostgresStore>),
}

impl ServedStore {
    /// What requests use.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            ServedStore::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            ServedStore::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// Opens the limits: in the store's database with other servers, or in memory, with the thread
    /// that writes them to a file of its directory. Blocks.
    pub fn limits(
        &self,
        config: &ServerConfig,
        clock: Arc<SystemClock>,
        log: &Logger,
    ) -> anyhow::Result<(Arc<dyn Limits>, Option<LimitsPersister>)> {
        let (keyless, log) = (config.keyless_per_minute, log.clone());
        match self {
            ServedStore::Postgres(store) => Ok((Arc::new(store.limits(keyless, log)), None)),
            ServedStore::Sqlite(store) => {
                let directory = store.path().parent().unwrap_or(Path::new("."));
                let limits = Arc::new(InMemoryLimits::new(keyless, log.clone()));
                let counting = Arc::clone(&limits);
                let file = LimitsFile::open(directory, store.id()?, counting, clock, log);
                let persister =
                    LimitsPersister::start(file).context("cannot start the limits file")?;
                Ok((limits, Some(persister)))
            }
        }
    }
}
