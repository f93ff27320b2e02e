//! Why a store did not do what it was asked, on every engine.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {}{}", path.display(), advice(source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a store of ours.
    #[error("{} is not a store of Store Orders; choose another --data-dir", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{} was written by a newer version of store-orders (schema {found}, this one knows up to \
         {known}); use that version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// There is no store.
    #[error(
        "there is no store at {}; give its directory with --data-dir, or create one with `orders \
         import`",
        _0.display()
    )]
    NoStore(PathBuf),
    /// The database has no store, or one of a version that this program cannot use.
    #[error("{0}")]
    Unusable(String),
    /// The operator named an order, account or key that does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A rule forbids it.
    #[error("{0}")]
    Refused(String),
    /// It was committed, and no standby has confirmed it.
    #[error("the change was made, but no standby has confirmed it: a failover can lose it")]
    Unconfirmed,
    /// A file cannot be written, or not be copied.
    #[error("cannot {doing}")]
    File {
        /// What was to be done with which file.
        doing: String,
        /// Why not.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The engine failed.
    #[error("the store cannot be {doing}")]
    Engine {
        /// What it was asked to do, as a participle.
        doing: &'static str,
        /// The engine's error.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// The system refused to write this file.
    pub fn unwritable(path: &Path, error: io::Error) -> StoreError {
        StoreError::File { doing: format!("write {}", path.display()), source: error.into() }
    }
}

/// What to do about a file that the system refuses, in brackets.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (fix: run the command as the owner of its files)",
        _ => "",
    }
}
