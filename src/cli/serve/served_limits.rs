//! The limits that a server applies, and what carries them over a restart.

use super::error::ServeError;
use crate::clock::SystemClock;
use crate::config::{RedisUrl, ServerConfig};
use crate::limits::{InMemoryLimits, Limits, LimitsFile, LimitsPersister, RedisLimits};
use slog::Logger;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Where a server counts requests.
#[derive(Clone, Debug)]
pub enum CountsPlace {
    /// In its memory, and in a file in this directory.
    Directory(PathBuf),
    /// In this Redis, with other servers.
    Redis(RedisUrl),
}

/// The limits of a server, and the thread that writes them to their file, if they have one.
pub struct ServedLimits {
    /// What requests use.
    pub limits: Arc<dyn Limits>,
    persister: Option<LimitsPersister>,
}

impl ServedLimits {
    /// Opens them for the store with this id. Blocks.
    pub fn open(
        place: CountsPlace,
        store_id: String,
        config: &ServerConfig,
        clock: Arc<SystemClock>,
        (runtime, log): (&Handle, &Logger),
    ) -> Result<ServedLimits, ServeError> {
        let keyless = config.keyless_per_minute;
        match place {
            CountsPlace::Redis(url) => {
                let opening =
                    RedisLimits::open(url, config.limits_lost, &store_id, keyless, log.clone());
                let limits = Arc::new(runtime.block_on(opening)?);
                Ok(ServedLimits { limits, persister: None })
            }
            CountsPlace::Directory(directory) => {
                let limits = Arc::new(InMemoryLimits::new(keyless));
                let counting = Arc::clone(&limits);
                let file = LimitsFile::open(&directory, store_id, counting, clock, log.clone());
                let persister = LimitsPersister::start(file).map_err(|source| {
                    ServeError::System { doing: "cannot start the limits file", source }
                })?;
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
