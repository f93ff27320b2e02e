//! What the operator's commands ask of the store in PostgreSQL: each method's statements are
//! in the file of its rows.
//!
//! A change reads without a lock. What it writes is sent at once, from the lock of changes to the
//! COMMIT, so that no command holds that lock while it waits for an answer, or is suspended: each
//! statement sees all that was committed before (READ COMMITTED), and changes commit in the order of
//! their numbers. If another change came in between, it is made again.

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
pub use migrate::{migrate, print_grants};
pub use restore::restore;
pub use servers::ReplicaRow;

use super::connecting::{COMMAND, Connection, Link, connect};
use super::error::{engine, read, require_one_row, waited, written};
use super::heartbeats::keep_servers_away;
use super::journal::{self, LOCK_CHANGES, NOTE_UNLESS_CHANGED, lock_changes};
use super::limits::owner::follow_store;
use super::rows::value;
use super::schema::{LIMITS, SCHEMA_LOCK, STORE, require_current};
use crate::store::commands::{Engine, Scope};
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::{COMMAND_CONNECT_LIMIT, SERVES_FOR};
use crate::store::rules::imported;
use crate::store::statements::Statements;
use crate::store::{
    ChangeScope, CheckReport, ImportOutcome, LastChanges, OperatorStore, OrderCommands, Records,
    StoreError,
};
use blocking::{Blocking, Write};
use futures::future::{join_all, try_join_all};
use inserts::is_taken;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

/// The store, for one command. Its methods block, and are not called from within a runtime.
pub struct PostgresCommands {
    /// Drives the connection, while a method runs.
    runtime: Runtime,
    connection: Mutex<Connection>,
    url: PostgresUrl,
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
        Ok(PostgresCommands { runtime, connection: Mutex::new(connection), url: url.clone() })
    }

    /// Connects to the database of the request counts, whatever its schema.
    fn open_limits(&self) -> Result<PostgresCommands, StoreError> {
        PostgresCommands::open(&self.url.limits())
    }

    /// Does `work`, which gives the store another id; its request counts go on under the new one.
    fn with_new_id<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // First, so that nothing is done if it is missing.
        let (limits, before) = (self.open_limits()?, self.id()?);
        limits.ask(async |client| require_current(client, LIMITS).await)?;
        let done = work()?;
        let id = self.id()?;
        limits.ask(async |client| follow_store(client, &before, &id).await)?;
        Ok(done)
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
    const ORDERS_CHANGE: &'static str = "(SELECT max(version) FROM changes)";
    const KEYS_CHANGE: &'static str = Self::ORDERS_CHANGE;
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
        work(&Blocking::new(&self.runtime, client))
    }

    fn change<T>(
        &self,
        scope: Scope<'_>,
        work: impl Fn(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (connection, runtime) = (self.connection.lock(), &self.runtime);
        loop {
            let last_seen = runtime.block_on(journal::last(&connection.client))?;
            let statements = Blocking::new(runtime, &connection.client);
            let done = work(&statements)?;
            let writes = statements.writes.into_inner();
            if runtime.block_on(write_at_once(&connection, scope, last_seen, writes))? {
                return Ok(done);
            }
        }
    }
}

/// Commits a change that does these writes, in one message. Writes nothing, and returns false, if
/// rows of its scope were changed after this change.
pub(super) async fn write_at_once(
    connection: &Connection,
    scope: Scope<'_>,
    (number, last_changes): (i64, LastChanges),
    writes: Vec<Write>,
) -> Result<bool, StoreError> {
    let Connection { client, link, .. } = connection;
    let is_of_orders = scope.scope() == ChangeScope::Orders;
    let orders = if let Scope::Orders(ids) = scope { ids } else { &[] };
    let change: [&(dyn ToSql + Sync); 4] = [&is_of_orders, &orders, &number, &last_changes.keys];
    let statements = [LOCK_CHANGES, NOTE_UNLESS_CHANGED].into_iter();
    let statements = statements.chain(writes.iter().map(|(statement, _)| &**statement));
    let prepared = try_join_all(statements.map(|statement| client.prepare(statement))).await;
    let prepared = prepared.map_err(written)?;
    let [lock, note, prepared @ ..] = &*prepared else { return Ok(false) };
    let writes = prepared.iter().zip(writes);
    let writes = writes.map(|(statement, (_, values))| client.execute_raw(statement, values));
    let unconfirmed_before = link.unconfirmed();
    let (begun, locked, noted, written_all, committed) = tokio::join!(
        client.batch_execute("BEGIN"),
        client.query(lock, &[]),
        client.execute(note, &change),
        join_all(writes),
        // After an error it takes all back.
        client.batch_execute("COMMIT"),
    );
    begun.map_err(uncertain)?;
    require_one_row("versions", locked.map_err(uncertain)?.len())?;
    match noted {
        Err(error) if error.code() == Some(&SqlState::NOT_NULL_VIOLATION) => return Ok(false),
        noted => noted.map_err(uncertain)?,
    };
    written_all.into_iter().try_for_each(|one| one.map(drop)).map_err(uncertain)?;
    committed.map_err(uncertain)?;
    if link.unconfirmed() == unconfirmed_before { Ok(true) } else { Err(StoreError::Unconfirmed) }
}

/// The error of a COMMIT, or of what was sent with it. Without an answer it may have been carried
/// out.
fn uncertain(error: tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(_) => waited(error),
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
        // By the database's clock: if a failover has moved it, some steps are too long or too short.
        let query = format!(
            "SELECT EXISTS (SELECT FROM replicas
                            WHERE heard_at > clock_timestamp() - interval '{} seconds')",
            SERVES_FOR.as_secs()
        );
        let row = self.ask(async |client| client.query_one(&query, &[]).await.map_err(read))?;
        value(&row, 0)
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        self.examine()
    }
}
