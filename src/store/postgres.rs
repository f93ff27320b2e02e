//! The store in PostgreSQL, which several servers and the operator's commands share.
//!
//! | Module | Its job |
//! |---|---|
//! | `connecting` | opens a connection to the primary, with the settings of its role |
//! | `session` | six connections to one server, which are reopened together when one is lost |
//! | `serving` | the [`Store`](super::Store) trait, for a running server |
//! | `commands` | the [`OperatorStore`](super::OperatorStore) trait, and PostgreSQL's own commands |
//! | `schema` | the tables, their migrations and grants |
//! | `journal` | the numbered changes; detects a store with another history |
//! | `heartbeats` | finds running and silent servers |
//! | `limits` | the [`Limits`](crate::limits::Limits) trait: the request counts |
//! | `rows` | reads values from rows |
//! | `timeouts` | all timeouts, and how they depend on each other |
//! | `error` | errors of PostgreSQL, with advice for the operator |

mod commands;
mod connecting;
mod error;
mod heartbeats;
mod journal;
mod limits;
mod rows;
pub mod schema;
mod serving;
mod session;
mod timeouts;

pub use commands::{
    PostgresCommands, PostgresLimitsReport, ReplicaRow, begin_new_store, migrate, print_grants,
    restore,
};
pub use connecting::{
    COMMAND, ConnectError, Connection, InvalidUrl, PostgresUrl, check_tls, connect, read_password,
};
pub use error::PostgresError;
pub use limits::{Admission, PostgresLimits, remove_expired};
pub use serving::{PAGE_ROWS, PostgresStore};
pub use timeouts::SILENT_FOR;
