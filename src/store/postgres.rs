//! The store in PostgreSQL, which several servers and the operator's commands share.
//!
//! | Room | Its job |
//! |---|---|
//! | `connecting` | a connection to the primary, and what it is set to for its role |
//! | `session` | five connections to one server, and the next ones when it is lost |
//! | `serving` | the [`Store`](super::Store) trait: what a running server asks |
//! | `commands` | the [`OperatorStore`](super::OperatorStore) trait, and the commands of PostgreSQL alone |
//! | `schema` | the tables, their migrations and rights |
//! | `journal` | the changes, by number: what a server lacks, and whether the store goes on |
//! | `heartbeats` | which servers run, as the others and the commands see it |
//! | `limits` | the [`Limits`](crate::limits::Limits) trait: the request counts |
//! | `rows` | rows, read as values |
//! | `timeouts` | how long everything waits |
//! | `error` | what PostgreSQL answers instead of a result |

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
