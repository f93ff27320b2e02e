//! The store that a server serves, and what belongs to its engine.

use crate::store::Store;
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
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

    /// Where the server listens, which a store that several share shows to the operator.
    pub fn announce(&self, url: &str) {
        if let ServedStore::Postgres(store) = self {
            store.announce(url.to_string());
        }
    }
}
