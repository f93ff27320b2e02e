//! The store in PostgreSQL, which several servers and the operator's commands share.
//!
//! | Module | Its job |
//! |---|---|
//! | `connecting` | opens a connection to the primary, with the settings of its role |
//! | `session` | six connections to one PostgreSQL server, which are opened and closed together |
//! | `server_store` | the [`Store`](super::Store) trait, for a running store-orders server |
//! | `operator_store` | the [`OperatorStore`](super::OperatorStore) trait, and the commands that only PostgreSQL has |
//! | `schema` | the tables, their migrations and grants |
//! | `journal` | the numbered changes; detects whether the history of the store has changed |
//! | `gathering` | gathers requests that arrive together, so that they share a statement |
//! | `heartbeats` | finds the store-orders servers that run, and those that have gone silent |
//! | `rate_limiter` | the [`RateLimiter`](crate::rate_limiter::RateLimiter) trait: the request counts |
//! | `rows` | reads values from rows |
//! | `timeouts` | all timeouts, and how they depend on each other |
//! | `error` | errors of PostgreSQL, with advice for the operator |

mod connecting;
mod error;
mod gathering;
mod heartbeats;
mod journal;
mod operator_store;
mod rate_limiter;
mod rows;
pub mod schema;
mod server_store;
mod session;
mod timeouts;

pub use connecting::{
    COMMAND, ConnectError, Connection, InvalidUrl, PostgresUrl, check_tls, connect, read_password,
};
pub use error::PostgresError;
pub use operator_store::{
    Migrated, PostgresCountsReport, PostgresOperatorStore, ReplicaRow, begin_new_store, migrate,
    print_grants, restore,
};
pub use rate_limiter::{Admission, PostgresRateLimiter, remove_expired};
pub use server_store::{PAGE_ROWS, PostgresStore};
pub use timeouts::SILENT_FOR;
