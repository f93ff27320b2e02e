//! The store in PostgreSQL, which several servers and the operator's commands share.
//!
//! | File | Its job |
//! |---|---|
//! | `operator` | the [`OperatorStore`](super::OperatorStore) trait: what the operator's commands ask |
//! | `restore` | a store from a backup of the embedded engine |
//! | `replicas` | the servers that use the store |
//! | `schema`, `schema_1.sql`, `grants` | the tables, their migrations, the rights of a server's role |
//! | `columns` | columns that hold words |
//! | `copying` | rows written with COPY |
//! | `waiting` | a command that waits says so |
//! | `error` | what PostgreSQL answers instead of a result |

pub mod columns;
mod copying;
pub mod error;
pub mod operator;
pub mod schema;
mod waiting;

pub use error::PostgresError;
pub use operator::PostgresCommands;
