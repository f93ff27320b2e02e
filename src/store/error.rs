//! The error type that both engines of the store return. Its messages are for the operator.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the data directory {}{}", path.display(), advice(source))]
    Directory { path: PathBuf, source: io::Error },
    #[error("{} is not a store of Store Orders; choose another --data-dir", path.display())]
    NotAStore { path: PathBuf },
    #[error(
        "{} was written by a newer version of store-orders (schema {found}, this one knows up to \
         {known}); use that version",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    #[error(
        "there is no store at {}; give its directory with --data-dir, or create one with `orders \
         import`",
        _0.display()
    )]
    NoStore(PathBuf),
    /// The store cannot be used as it is. For example, its file is empty, or this program does not
    /// support its version.
    #[error("{0}")]
    Unusable(String),
    /// An order, account or key that the operator named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The action is refused. For example, a rule forbids it, another process uses the store, or
    /// PostgreSQL rejects the statement.
    #[error("{0}")]
    Refused(String),
    #[error("the change was made, but no standby has confirmed it: a failover can lose it")]
    Unconfirmed,
    /// Writing, copying, moving or locking a file or directory has failed.
    #[error("cannot {doing}")]
    File {
        /// The failed action and its file, such as `write PATH`.
        doing: String,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("the store is damaged (fix: restore a backup; `store-orders check` lists the damage)")]
    Damaged(#[source] Box<dyn Error + Send + Sync>),
    #[error("the store cannot be {doing}")]
    Engine {
        /// The failed action as a participle, such as `read`.
        doing: &'static str,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// Returns the error for a store made by a build before 2.0.0, the first release. `store` names
    /// the store, for example by its path.
    pub fn earlier_build(store: impl Display) -> StoreError {
        StoreError::Unusable(format!(
            "{store} was made by a build before 2.0.0; create a new store, and import what that \
             build prints with `store-orders orders list --json --status pending`, and with \
             `--status shipped`"
        ))
    }

    pub fn unwritable(path: &Path, error: io::Error) -> StoreError {
        StoreError::File { doing: format!("write {}", path.display()), source: error.into() }
    }
}

pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => " (fix: run the command as the owner of its files)",
        _ => "",
    }
}
