//! The limits that a server applies, and what carries them over a restart.

use super::served_store::ServedStore;
use crate::clock::SystemClock;
use crate::config::ServerConfig;
use crate::limits::{InMemoryLimits, Limits, LimitsFile, LimitsPersister};
use anyhow::Context;
use slog::Logger;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The limits of a server, and the thread that writes them to their file, if they have one.
pub struct ServedLimits {
    /// What requests use.
    pub limits: Arc<dyn Limits>,
    persister: Option<LimitsPersister>,
}

impl ServedLimits {
    /// Opens them for this store: in its database with other servers, or in memory and in a file
    /// of its directory. Blocks.
    pub fn open(
        store: &ServedStore,
        config: &ServerConfig,
        clock: Arc<SystemClock>,
        log: &Logger,
    ) -> anyhow::Result<ServedLimits> {
        let keyless = config.keyless_per_minute;
        match store {
            ServedStore::Postgres(store) => {
                let limits = Arc::new(store.limits(keyless, log.clone()));
                Ok(ServedLimits { limits, persister: None })
            }
            ServedStore::Sqlite(store) => {
                let directory = store.path().parent().unwrap_or(Path::new("."));
                let store_id = store.id()?;
                let limits = Arc::new(InMemoryLimits::new(keyless, log.clone()));
                let counting = Arc::clone(&limits);
                let file = LimitsFile::open(directory, store_id, counting, clock, log.clone());
                let persister =
                    LimitsPersister::start(file).context("cannot start the limits file")?;
                Ok(ServedLimits { limits, persister: Some(persister) })
            }
        }
    }

    /// Writes what has changed. Blocks, but not past the timeout; returns whether all is
    /// written.
    pub fn finish(self, timeout: Duration) -> bool {
        self.persister.is_none_or(|persister| persister.finish(timeout))
    }
}
