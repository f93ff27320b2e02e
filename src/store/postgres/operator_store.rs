//! The store's interface for the operator's commands.
//!
//! A command first reads the rows that it will change, without a lock. Then it sends all statements
//! of the change together, from the change lock to the COMMIT. So a suspended command does not hold
//! the lock.
//!
//! With READ COMMITTED, a statement after the lock sees all changes that were committed before the
//! lock was taken. If the rows have changed since the command read them, the statement fails, and
//! the command repeats its change.
//!
//! `restore` and `migrate --new-store-id` hold the change lock for longer. No server waits for the
//! lock, because these two commands run only while no server uses the store.

mod blocking;
mod check;
mod counts_report;
mod identity;
mod inserts;
mod migrate;
mod restore;
mod servers;

pub use counts_report::PostgresCountsReport;
pub use identity::begin_new_store;
pub use migrate::{Migrated, migrate, print_grants};
pub use restore::restore;
pub use servers::ReplicaRow;

use super::connecting::{COMMAND, Connection, Link, connect};
use super::error::{engine_error, lock_error, read_error, require_one_row, write_error};
use super::heartbeats::keep_servers_away;
use super::journal::{self, LOCK_CHANGES, RECORD_UNLESS_CHANGED, lock_changes};
use super::rate_limiter::owner::follow_store;
use super::rows::value;
use super::schema::{LIMITS, SCHEMA_LOCK, STORE, require_current};
use crate::store::operator_store::{Engine, Scope};
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::{COMMAND_CONNECT_LIMIT, SERVES_FOR};
use crate::store::rules::import_outcome;
use crate::store::statements::Statements;
use crate::store::{
    ChangeScope, CheckReport, ImportOutcome, LastChanges, OperatorStore, OrderCommands, Records,
    StoreError,
};
use blocking::{Blocking, PendingWrite};
use futures::future::{join_all, try_join_all};
use inserts::is_duplicate_id;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

/// The store, as one command uses it. The methods block, so they must not be called within a tokio
/// runtime.
pub struct PostgresOperatorStore {
    runtime: Runtime,
    connection: Mutex<Connection>,
    url: PostgresUrl,
}

impl PostgresOperatorStore {
    /// Connects to the primary at this URL. Fails if this program cannot use the store's schema.
    pub fn connect(url: &PostgresUrl) -> Result<PostgresOperatorStore, StoreError> {
        let commands = PostgresOperatorStore::open(url)?;
        commands.run(async |client| require_current(client, STORE).await)?;
        Ok(commands)
    }

    /// Connects to the primary at this URL. Does not check the database's schema.
    fn open(url: &PostgresUrl) -> Result<PostgresOperatorStore, StoreError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Engine {
            doing: "reached",
            source,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.into()))?;
        let connected = runtime.block_on(connect(url, &COMMAND, COMMAND_CONNECT_LIMIT));
        let connection = connected.map_err(|error| failed(error.into()))?;
        Ok(PostgresOperatorStore { runtime, connection: Mutex::new(connection), url: url.clone() })
    }

    /// Connects to the database of the request counts, without checking its schema.
    fn open_counts(&self) -> Result<PostgresOperatorStore, StoreError> {
        PostgresOperatorStore::open(&self.url.counts_database())
    }

    /// Runs `work`, which gives the store a new id. Then assigns the request counts to the new id.
    fn with_new_id<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // Connect to the database of the counts before `work`, because a missing database must fail
        // the command before any change.
        let (limits, before) = (self.open_counts()?, self.id()?);
        limits.run(async |client| require_current(client, LIMITS).await)?;
        let result = work()?;
        let id = self.id()?;
        limits.run(async |client| follow_store(client, &before, &id).await)?;
        Ok(result)
    }

    fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.connection.lock();
        self.runtime.block_on(work(&connection.client))
    }

    /// Runs `work` in one transaction. An error usually means that nothing has changed. After
    /// [`StoreError::Unconfirmed`], the transaction is committed, but no standby has confirmed it.
    /// The transaction may also be committed if the result of the COMMIT was lost.
    fn write<T>(
        &self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.lock();
        let Connection { client, link, .. } = &mut *connection;
        self.runtime.block_on(async {
            let transaction = client.transaction().await.map_err(write_error)?;
            let result = work(&transaction).await;
            end_transaction(transaction, link, result).await
        })
    }
}

/// Commits a transaction, or rolls it back after an error. Fails with [`StoreError::Unconfirmed`]
/// if PostgreSQL committed without the standby's confirmation.
async fn end_transaction<T>(
    transaction: Transaction<'_>,
    link: &Link,
    result: Result<T, StoreError>,
) -> Result<T, StoreError> {
    match result {
        Ok(result) => {
            // This statement fails if `work` ignored an earlier error. COMMIT alone would then roll
            // back without reporting an error.
            transaction.execute("SELECT", &[]).await.map_err(write_error)?;
            let before = link.unconfirmed();
            transaction.commit().await.map_err(commit_error)?;
            if link.unconfirmed() == before { Ok(result) } else { Err(StoreError::Unconfirmed) }
        }
        Err(error) => {
            // Ignore an error of the rollback. PostgreSQL rolls back the transaction when the
            // connection ends.
            let _ = transaction.rollback().await;
            Err(error)
        }
    }
}

impl Engine for PostgresOperatorStore {
    const ORDERS_CHANGE: &'static str = "(SELECT max(change_number) FROM changes)";
    const KEYS_CHANGE: &'static str = Self::ORDERS_CHANGE;
    const NUMBERS: &'static str = "
        SELECT CAST(value AS bigint)
        FROM json_array_elements_text(CAST(CAST($1 AS text) AS json)) AS numbers (value)";
    const OBJECTS: &'static str =
        "json_array_elements(CAST(CAST($1 AS text) AS json)) AS objects (value)";

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
            let last_seen = runtime.block_on(journal::read_last(&connection.client))?;
            let statements = Blocking::new(runtime, &connection.client);
            let result = work(&statements)?;
            let writes = statements.writes.into_inner();
            if runtime.block_on(write_at_once(&connection, scope, last_seen, writes))? {
                return Ok(result);
            }
        }
    }
}

/// Commits `writes` as one change. The caller must read `number` and `last_changes` from the
/// journal before it reads the rows on which the writes depend. Returns false and writes nothing if
/// rows in `scope` have changed since the caller read the journal.
pub(super) async fn write_at_once(
    connection: &Connection,
    scope: Scope<'_>,
    (number, last_changes): (i64, LastChanges),
    writes: Vec<PendingWrite>,
) -> Result<bool, StoreError> {
    let Connection { client, link, .. } = connection;
    let is_of_orders = scope.scope() == ChangeScope::Orders;
    let orders = if let Scope::Orders(ids) = scope { ids } else { &[] };
    let keys = last_changes.keys.number;
    let change: [&(dyn ToSql + Sync); 4] = [&is_of_orders, &orders, &number, &keys];
    let statements = [LOCK_CHANGES, RECORD_UNLESS_CHANGED].into_iter();
    let statements = statements.chain(writes.iter().map(|(statement, _)| &**statement));
    let prepared = try_join_all(statements.map(|statement| client.prepare(statement))).await;
    let prepared = prepared.map_err(write_error)?;
    let [lock, record, prepared @ ..] = &*prepared else { return Ok(false) };
    let writes = prepared.iter().zip(writes);
    let writes = writes.map(|(statement, (_, values))| client.execute_raw(statement, values));
    let unconfirmed_before = link.unconfirmed();
    let (begun, locked, recorded, written_all, committed) = tokio::join!(
        client.batch_execute("BEGIN"),
        client.query(lock, &[]),
        client.execute(record, &change),
        join_all(writes),
        // This COMMIT is sent even if an earlier statement fails. PostgreSQL then rolls the
        // transaction back.
        client.batch_execute("COMMIT"),
    );
    begun.map_err(commit_error)?;
    require_one_row("change_lock", locked.map_err(commit_error)?.len())?;
    match recorded {
        Err(error) if error.code() == Some(&SqlState::NOT_NULL_VIOLATION) => return Ok(false),
        recorded => recorded.map_err(commit_error)?,
    };
    written_all.into_iter().try_for_each(|written| written.map(drop)).map_err(commit_error)?;
    committed.map_err(commit_error)?;
    if link.unconfirmed() == unconfirmed_before { Ok(true) } else { Err(StoreError::Unconfirmed) }
}

/// Converts the error of a COMMIT, or of a statement that was sent together with the COMMIT.
/// Without a reply from PostgreSQL, the new error says that the outcome is unknown.
fn commit_error(error: tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(_) => lock_error(error),
        None => engine_error("asked whether the change was made")(error),
    }
}

/// Locks the store until the transaction ends, so that no server can start and no other change can
/// begin. Fails if a server uses the store. Returns the next change number.
async fn lock_store(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SCHEMA_LOCK]).await.map_err(lock_error)?;
    keep_servers_away(transaction).await?;
    lock_changes(transaction).await
}

impl OperatorStore for PostgresOperatorStore {
    fn await_servers(&self) {
        self.await_heartbeats();
    }

    fn id(&self) -> Result<String, StoreError> {
        let query = "SELECT store_id FROM identity";
        let row =
            self.run(async |client| client.query_one(query, &[]).await.map_err(read_error))?;
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
            Err(error) if is_duplicate_id(&error) => {
                let existing = self.existing(records.kind(), &records.ids())?;
                import_outcome(records, 0, false, existing.first().copied())
            }
            inserted => import_outcome(records, inserted?, skip_existing, None),
        }
    }

    fn is_served(&self) -> Result<bool, StoreError> {
        // After a failover, the clock of the new primary may differ from the clock that set
        // `heard_at`. A wrong `true` only slows down a long command. A wrong `false` only slows
        // down the servers.
        let query = format!(
            "SELECT EXISTS (SELECT FROM replicas
                            WHERE heard_at > clock_timestamp() - interval '{} seconds')",
            SERVES_FOR.as_secs()
        );
        let row =
            self.run(async |client| client.query_one(&query, &[]).await.map_err(read_error))?;
        value(&row, 0)
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        self.run_checks()
    }

    fn append_to_audit_log(&self, line: &str) -> Result<(), StoreError> {
        // DO takes no parameters, so it reads the line from a setting of the session. PostgreSQL
        // writes messages of the level LOG to its log, unless `log_min_messages` is `fatal` or
        // `panic`.
        let set = "SELECT set_config('store_orders.audit', $1, false)";
        let log = "DO $$ BEGIN
                       RAISE LOG 'audit of store-orders: %', current_setting('store_orders.audit');
                   END $$";
        self.run(async |client| {
            client.execute(set, &[&line]).await.map_err(write_error)?;
            client.batch_execute(log).await.map_err(write_error)
        })
    }
}
