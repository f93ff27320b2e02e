//! The store that a server serves, and what belongs to its engine: where counts are kept,
//! and what is left to do at the end.

use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::store::{Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A store, opened for a server.
#[derive(Clone)]
pub enum ServedStore {
    /// In its data directory.
    Sqlite(Arc<SqliteStore>),
    /// In PostgreSQL; counts of requests are in the directory.
    Postgres(Arc<PostgresStore>, PathBuf),
}

impl ServedStore {
    /// What requests use.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            ServedStore::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            ServedStore::Postgres(store, _) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// The store's id.
    pub fn id(&self) -> Result<String, StoreError> {
        match self {
            ServedStore::Sqlite(store) => store.id(),
            ServedStore::Postgres(store, _) => store.id(),
        }
    }

    /// Where the counts of requests are kept.
    pub fn limits_directory(&self) -> &Path {
        match self {
            ServedStore::Sqlite(store) => store.path().parent().unwrap_or(Path::new(".")),
            ServedStore::Postgres(_, directory) => directory,
        }
    }

    /// Where the server listens, which a store that several share shows to the operator.
    pub fn announce(&self, url: &str) {
        if let ServedStore::Postgres(store, _) = self {
            store.announce(url.to_string());
        }
    }
}
