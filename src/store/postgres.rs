//! The store in PostgreSQL, which several servers and the operator's commands share.
//!
//! | File | Its job |
//! |---|---|
//! | `serving` | the [`Store`](super::Store) trait: what a running server asks |
//! | `sessions`, `session` | five connections to one server; the next ones when it is lost |
//! | `connecting`, `link`, `tls` | a connection to the primary |
//! | `settings` | what every connection is set to |
//! | `statements` | the prepared statements of a session |
//! | `batch` | a batch of cancellations |
//! | `checks` | the check of lists |
//! | `journal` | the changes, by number: what a server lacks, and whether the store goes on |
//! | `heartbeat`, `replica` | the commits by which a session counts; this server's row |
//! | `limiter` | the [`Limits`](crate::limits::Limits) trait: what requests are counted by |
//! | `limits_report` | what is counted, for the operator's commands |
//! | `durability`, `sync_standbys` | whether a failover could lose what was acknowledged, and whether its standbys stream |
//! | `operator` | the [`OperatorStore`](super::OperatorStore) trait: what the operator's commands ask |
//! | `restore` | a store from a backup of the embedded engine |
//! | `identity` | another id for a store that goes on from an earlier state |
//! | `replicas` | the servers that use the store |
//! | `migrating` | what `migrate` does |
//! | `schema`, `schema_*.sql` | the tables and their migrations |
//! | `grants` | the rights of a server's role |
//! | `command` | the connection of one command |
//! | `columns` | columns that hold words |
//! | `copying` | rows written with COPY |
//! | `waiting` | a command that waits says so |
//! | `error` | what PostgreSQL answers instead of a result |

mod batch;
mod checks;
pub mod columns;
mod command;
mod connecting;
mod copying;
mod durability;
pub mod error;
mod grants;
mod heartbeat;
mod identity;
mod journal;
mod limiter;
mod limits_report;
mod link;
mod migrating;
pub mod operator;
mod replica;
mod replicas;
mod restore;
pub mod schema;
mod serving;
mod session;
mod sessions;
mod settings;
mod statements;
mod sync_standbys;
mod tls;
mod waiting;

pub use connecting::{ConnectError, Connection, connect};
pub use error::PostgresError;
pub use identity::begin_new_store;
pub use limiter::PostgresLimits;
pub use limits_report::PostgresLimitsReport;
pub use migrating::{migrate, print_grants};
pub use operator::PostgresCommands;
pub use replicas::ReplicaRow;
pub use restore::restore;
pub use serving::PostgresStore;
pub use settings::COMMAND;
pub use tls::check_tls;
