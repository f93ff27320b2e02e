//! Combines a server's store with a rate limiter. With SQLite, the limiter counts in memory. With
//! PostgreSQL, the limiter counts in PostgreSQL.

use crate::clock::SystemClock;
use crate::rate_limiter::{CountsFile, CountsPersister, InMemoryRateLimiter, RateLimiter};
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::store::{OperatorStore, Store};
use anyhow::Context;
use slog::Logger;
use std::path::Path;
use std::sync::Arc;

pub struct ServedStore {
    pub store: Arc<dyn Store>,
    pub rate_limiter: Arc<dyn RateLimiter>,
    /// Saves the counts of the in-memory limiter to the counts file. `None` if the limiter counts
    /// in PostgreSQL.
    pub persister: Option<CountsPersister>,
}

impl ServedStore {
    /// Combines a store with a limiter that counts in memory and saves the counts to a file.
    /// `unauthenticated_per_minute` is the limit per address for requests without a valid key.
    /// Blocks while reading the store and the counts file.
    pub fn embedded(
        store: SqliteStore,
        unauthenticated_per_minute: u32,
        clock: Arc<SystemClock>,
        log: &Logger,
    ) -> anyhow::Result<ServedStore> {
        let directory = store.path().parent().unwrap_or(Path::new("."));
        let rate_limiter =
            Arc::new(InMemoryRateLimiter::new(unauthenticated_per_minute, log.clone()));
        let counting = Arc::clone(&rate_limiter);
        let file = CountsFile::open(directory, store.id()?, counting, clock, log.clone());
        let persister = CountsPersister::start(file).context("cannot start the counts file")?;
        Ok(ServedStore { store: Arc::new(store), rate_limiter, persister: Some(persister) })
    }

    /// Combines a PostgreSQL store with a limiter that counts in PostgreSQL. Several servers can
    /// share the store and the counts. Must be called inside a tokio runtime.
    pub fn shared(
        store: PostgresStore,
        unauthenticated_per_minute: u32,
        log: &Logger,
    ) -> ServedStore {
        let rate_limiter = Arc::new(store.rate_limiter(unauthenticated_per_minute, log.clone()));
        ServedStore { store: Arc::new(store), rate_limiter, persister: None }
    }
}
