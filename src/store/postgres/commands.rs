//! What the operator's commands ask of the store in PostgreSQL: each method's statements are
//! in the file of its rows.
//!
//! A change begins with the lock of changes and ends with its row in the
//! journal: every statement in between sees all that was committed before (READ COMMITTED), and
//! changes commit in the order of their numbers.

mod blocking;
mod check;
mod identity;
mod inserts;
mod limits_report;
mod migrate;
mod restore;
mod servers;

pub use identity::begin_new_store;
pub use limits_report::PostgresLimitsReport;
pub use migrate::{migrate, move_counts, print_grants};
pub use restore::restore;
pub use servers::ReplicaRow;

use super::connecting::{COMMAND, Connection, Link, connect};
use super::error::{engine, read, waited, written};
use super::heartbeats::keep_servers_away;
use super::journal::{lock_changes, note};
use super::rows::value;
use super::schema::{SCHEMA_LOCK, STORE, require_current};
use crate::store::commands::Engine;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::COMMAND_CONNECT_LIMIT;
use crate::store::rules::imported;
use crate::store::statements::Statements;
use crate::store::{
    CheckReport, Half, ImportOutcome, OperatorStore, OrderCommands, Records, StoreError,
};
use blocking::Blocking;
use inserts::is_taken;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Transaction};

/// The store, for one command. Its methods block, and are not called from within a runtime.
pub struct PostgresCommands {
    /// Drives the connection, while a method runs.
    runtime: Runtime,
    connection: Mutex<Connection>,
}

impl PostgresCommands {
    /// Connects to the primary of this store, which must have the newest schema.
    pub fn connect(url: &PostgresUrl) -> Result<PostgresCommands, StoreError> {
        let commands = PostgresCommands::open(url)?;
        commands.ask(async |client| require_current(client, STORE).await)?;
        Ok(commands)
    }

    /// Connects to the primary at this URL, whatever its schema.
    fn open(url: &PostgresUrl) -> Result<PostgresCommands, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Engine {
            doing: "reached",
            source,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.into()))?;
        let connected = runtime.block_on(connect(url, &COMMAND, COMMAND_CONNECT_LIMIT));
        let connection = connected.map_err(|error| failed(error.into()))?;
        Ok(PostgresCommands { runtime, connection: Mutex::new(connection) })
    }

    /// Connects to the database of the request counts, unless they are in the store's own.
    fn open_separate_limits(
        &self,
        url: &PostgresUrl,
    ) -> Result<Option<PostgresCommands>, StoreError> {
        url.limits_database().map(|_| PostgresCommands::open(&url.limits())).transpose()
    }

    /// Does `work`, which reads.
    fn ask<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.connection.lock();
        self.runtime.block_on(work(&connection.client))
    }

    /// Does `work` in one transaction. After an error nothing is changed.
    fn write<T>(
        &self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.lock();
        let Connection { client, link, .. } = &mut *connection;
        self.runtime.block_on(async {
            let transaction = client.transaction().await.map_err(written)?;
            let done = work(&transaction).await;
            end(transaction, link, done).await
        })
    }
}

/// Commits what was done, or takes it back after an error.
async fn end<T>(
    transaction: Transaction<'_>,
    link: &Link,
    done: Result<T, StoreError>,
) -> Result<T, StoreError> {
    match done {
        Ok(done) => {
            // An error if an earlier one was passed over: COMMIT would take all back, and
            // succeed.
            transaction.execute("SELECT", &[]).await.map_err(written)?;
            let before = link.unconfirmed();
            transaction.commit().await.map_err(uncertain)?;
            if link.unconfirmed() == before { Ok(done) } else { Err(StoreError::Unconfirmed) }
        }
        Err(error) => {
            // The error stands whatever this says: without it the connection's end
            // takes the transaction back.
            let _ = transaction.rollback().await;
            Err(error)
        }
    }
}

impl Engine for PostgresCommands {
    const CHANGE_NUMBER: &'static str = "changed_in";
    const NUMBERS: &'static str = "
        SELECT CAST(value AS bigint)
        FROM json_array_elements_text(CAST(CAST($1 AS text) AS json)) AS numbers (value)";
    const UPDATES: &'static str = "
        SELECT CAST(value ->> 'id' AS bigint) AS id, value ->> 'shipDate' AS ship_date,
               CAST(value ->> 'complete' AS boolean) AS complete
        FROM json_array_elements(CAST(CAST($1 AS text) AS json)) AS updates (value)";

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client = &self.connection.lock().client;
        work(&Blocking { runtime: &self.runtime, client })
    }

    fn change<T>(
        &self,
        half: Half,
        work: impl FnOnce(&dyn Statements, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (mut connection, runtime) = (self.connection.lock(), &self.runtime);
        let Connection { client, link, .. } = &mut *connection;
        let transaction = runtime.block_on(client.transaction()).map_err(written)?;
        let changed = runtime.block_on(lock_changes(&transaction)).and_then(|change_number| {
            let done = work(&Blocking { runtime, client: &transaction }, change_number)?;
            runtime.block_on(note(&transaction, change_number, half))?;
            Ok(done)
        });
        runtime.block_on(end(transaction, link, changed))
    }
}

/// The error of a COMMIT. Without an answer it may have been carried out.
fn uncertain(error: tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(_) => written(error),
        None => engine("asked whether the change was made")(error),
    }
}

/// Keeps other commands like it, servers and changes away until the transaction ends. Returns the
/// next change number.
async fn take_store(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SCHEMA_LOCK]).await.map_err(waited)?;
    keep_servers_away(transaction).await?;
    lock_changes(transaction).await
}

impl OperatorStore for PostgresCommands {
    fn await_servers(&self) {
        self.await_heartbeats();
    }

    fn id(&self) -> Result<String, StoreError> {
        let query = "SELECT store_id FROM identity";
        let row = self.ask(async |client| client.query_one(query, &[]).await.map_err(read))?;
        value(&row, 0)
    }

    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError> {
        let inserted = match records {
            Records::Orders(orders) => self.insert_orders(orders, skip_existing),
            Records::Pets(pets) => self.insert_pets(pets, skip_existing),
        };
        match inserted {
            Err(error) if is_taken(&error) => {
                let taken = self.existing(records.kind(), &records.ids())?;
                imported(records, 0, false, taken.first().copied())
            }
            inserted => imported(records, inserted?, skip_existing, None),
        }
    }

    fn is_served(&self) -> Result<bool, StoreError> {
        let query = "SELECT EXISTS (SELECT FROM replicas)";
        let row = self.ask(async |client| client.query_one(query, &[]).await.map_err(read))?;
        value(&row, 0)
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        self.examine()
    }
}
