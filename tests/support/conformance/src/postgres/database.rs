//! Creates databases on the PostgreSQL server under test, and connects to them.

use crate::ServedStore;
use crate::engine::Engine;
use crate::threads::on_another_thread;
use anyhow::Context;
use slog::Logger;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use store_orders::store::postgres::{
    PostgresOperatorStore, PostgresRateLimiter, PostgresStore, PostgresUrl, SILENT_FOR, migrate,
    print_grants,
};
use store_orders::store::{OperatorStore, StoreError};
use testbed::relay::Relay;
use testbed::{WAIT_TIMEOUT, wait_blocking};
use tokio::runtime::{self, Runtime};
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, NoTls};

/// The statement that takes the change lock. Every change that gets a change number needs this
/// lock.
pub const LOCK_CHANGES: &str = "SELECT FROM change_lock FOR NO KEY UPDATE";

/// The number of databases that this process has named. It makes their names unique.
static DATABASE_COUNT: AtomicU32 = AtomicU32::new(0);

/// The PostgreSQL that the cases test: one server or a cluster. `server` contains the addresses,
/// and `role` is the superuser that owns the databases.
pub struct PostgresUnderTest {
    server: String,
    role: String,
}

/// A database on the PostgreSQL server under test. Dropping this value does not delete the
/// database.
pub struct Database<'a> {
    server: &'a PostgresUnderTest,
    name: String,
    /// Runs the tasks of the servers that use this database. Dropping the runtime ends the tasks.
    runtime: Option<Runtime>,
}

impl PostgresUnderTest {
    /// Uses the addresses in `server`, such as `127.0.0.1:5432`, separated by commas. Connections
    /// try the addresses in this order. The role must be able to log in without a password.
    pub fn new(server: &str, role: &str) -> PostgresUnderTest {
        PostgresUnderTest { server: server.to_string(), role: role.to_string() }
    }

    fn database(&self, name: String) -> anyhow::Result<Database<'_>> {
        let runtime =
            runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Database { server: self, name, runtime: Some(runtime) })
    }

    pub fn empty_database(&self, options: &str) -> anyhow::Result<Database<'_>> {
        let number = DATABASE_COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("store_{}_{number}", std::process::id());
        let maintenance = self.database("postgres".to_string())?;
        maintenance.execute(&format!("CREATE DATABASE {name} {options}"))?;
        self.database(name)
    }

    pub fn new_store(&self) -> anyhow::Result<Database<'_>> {
        let database = self.empty_database("")?;
        database.migrate()?;
        Ok(database)
    }
}

impl Database<'_> {
    pub fn url_for(&self, role: &str) -> String {
        format!("postgres://{role}@{}/{}", self.server.server, self.name)
    }

    /// Returns the URL with which the owner of the database connects.
    pub fn url(&self) -> String {
        self.url_for(&self.server.role)
    }

    pub fn relay(&self) -> anyhow::Result<(Relay, PostgresUrl)> {
        let runtime = self.runtime.as_ref().context("the database was dropped")?;
        let _in_runtime = runtime.enter();
        let (host, port) = self.server.server.rsplit_once(':').context("a host and its port")?;
        let relay = Relay::to(port.parse()?)?;
        let url = format!("postgres://{}@{host}:{}/{}", self.server.role, relay.port, self.name);
        Ok((relay, url.parse()?))
    }

    /// Returns the owner's URL with `limits_database` as the database of the request counts. `None`
    /// selects the default database.
    pub fn url_counting_in(&self, limits_database: Option<&str>) -> anyhow::Result<PostgresUrl> {
        let url: PostgresUrl = self.url().parse()?;
        Ok(url.with_limits_database(limits_database.map(str::to_string)))
    }

    /// Returns the database in which the servers of this store count requests by default.
    pub fn counts(&self) -> anyhow::Result<Database<'_>> {
        self.server.database(self.url_counting_in(None)?.limits_database())
    }

    pub fn grant(&self, role: &str) -> anyhow::Result<()> {
        let grants = print_grants(&self.url().parse()?, role)?;
        let grants = grants.strip_prefix("\\set ON_ERROR_STOP on\n").context("errors go on")?;
        let connect = format!("\\connect \"{}_limits\"\n", self.name);
        let (store, counts) = grants.split_once(&connect).context("no grants of counts")?;
        self.execute(store)?;
        self.counts()?.execute(counts)
    }

    /// Returns an unused name for another database on the same PostgreSQL server.
    pub fn name_of_another(&self) -> String {
        format!("{}_{}", self.name, DATABASE_COUNT.fetch_add(1, Ordering::Relaxed))
    }

    pub fn as_role<T>(
        &self,
        role: &str,
        work: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let mut client = connect(&runtime, &self.url_for(role))?;
        runtime.block_on(work(&mut client))
    }

    /// Connects as the role that owns the database, and runs `work` with the connection.
    pub fn with<T>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.as_role(&self.server.role, work)
    }

    /// Executes these statements as the database's owner.
    pub fn execute(&self, statements: &str) -> anyhow::Result<()> {
        self.with(async |client| {
            client.batch_execute(statements).await.with_context(|| statements.to_string())
        })
    }

    /// Runs `work` while an open transaction holds the locks that `statements` take. Then commits
    /// the transaction.
    pub fn before_commit<T: Send>(
        &self,
        statements: &str,
        work: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        self.with(async |client| {
            let transaction = client.transaction().await?;
            transaction.batch_execute(statements).await?;
            let result = on_another_thread(work);
            transaction.commit().await?;
            result
        })
    }

    pub fn wait_for_lock(&self) -> anyhow::Result<()> {
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
                                   WHERE datname = current_database() AND wait_event_type = 'Lock')";
        wait_blocking("somebody waits for a lock", WAIT_TIMEOUT, || {
            self.value::<bool>(waits, &[]).ok()?.then_some(())
        })
    }

    pub fn value<T: FromSqlOwned>(
        &self,
        query: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> anyhow::Result<T> {
        self.with(async |client| Ok(client.query_one(query, parameters).await?.try_get(0)?))
    }

    /// Adds a row for the server `f00`, which does not exist. `heard_at` is an SQL expression for
    /// the time of the row's last update.
    pub fn add_server(&self, heard_at: &str) -> anyhow::Result<()> {
        self.execute(&format!(
            "INSERT INTO replicas (id, program, address, list_change_number, heard_at)
             VALUES ('f00', '1.0.0', '10.0.0.1:80', 0, {heard_at})"
        ))
    }

    /// Creates the store, or migrates it to the newest schema, as the owner of the database.
    /// Returns the lines that the command `migrate` prints.
    pub fn migrate(&self) -> anyhow::Result<Vec<String>> {
        Ok(migrate(&self.url().parse()?)?.lines)
    }

    /// Returns the ids of the PostgreSQL processes that serve this store's servers, five for each
    /// session. Omits a session's sixth connection, which is to the database of the counts.
    ///
    /// If a session is opened again, the ids change.
    pub fn session_backends(&self) -> anyhow::Result<Vec<i32>> {
        let query = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity
                     WHERE datname = current_database() AND application_name IN (
                         'store-orders writer', 'store-orders freshness', 'store-orders reader',
                         'store-orders maintenance', 'store-orders heartbeat')";
        self.value(query, &[])
    }

    /// Creates a role that can log in and that has been granted no other rights. The role is never
    /// dropped.
    pub fn new_role(&self) -> anyhow::Result<String> {
        let role = format!("role_of_{}", self.name);
        self.execute(&format!("CREATE ROLE {role} LOGIN"))?;
        Ok(role)
    }

    /// Opens the store as an operator's command does, and connects as `role`.
    pub fn commands_of(&self, role: &str) -> anyhow::Result<PostgresOperatorStore> {
        Ok(PostgresOperatorStore::connect(&self.url_for(role).parse()?)?)
    }

    pub fn commands_of_owner(&self) -> anyhow::Result<PostgresOperatorStore> {
        self.commands_of(&self.server.role)
    }

    pub fn server_of_owner(&self) -> anyhow::Result<ServedPostgres> {
        self.server_of(&self.server.role)
    }

    pub fn server_of(&self, role: &str) -> anyhow::Result<ServedPostgres> {
        self.server_at(self.url_for(role).parse()?, SILENT_FOR)
    }

    /// Opens the store at `url` as a server does. This server removes the row of any other server
    /// that sends no heartbeats for `silent_for`.
    pub fn server_at(
        &self,
        url: PostgresUrl,
        silent_for: Duration,
    ) -> anyhow::Result<ServedPostgres> {
        self.open(url, false, silent_for)
    }

    pub fn server_that_confirms_lists(&self) -> anyhow::Result<ServedPostgres> {
        self.open(self.url().parse()?, true, SILENT_FOR)
    }

    fn open(
        &self,
        url: PostgresUrl,
        confirms_lists: bool,
        silent_for: Duration,
    ) -> anyhow::Result<ServedPostgres> {
        let log = Logger::root(slog::Discard, slog::o!());
        let runtime = self.runtime.as_ref().context("the database was dropped")?;
        let opened = PostgresStore::open(url, confirms_lists, silent_for, log);
        let store = Arc::new(runtime.block_on(opened)?);
        let served = ServedStore::new(store.clone(), runtime.handle().clone());
        Ok(ServedPostgres { served, store })
    }
}

/// A server's store in PostgreSQL, with the blocking interface of [`ServedStore`].
pub struct ServedPostgres {
    served: ServedStore,
    /// The same store, for the methods that only PostgreSQL has.
    store: Arc<PostgresStore>,
}

impl ServedPostgres {
    pub fn rate_limiter(
        &self,
        unauthenticated_per_minute: u32,
        log: Logger,
    ) -> PostgresRateLimiter {
        self.wait(async { self.store.rate_limiter(unauthenticated_per_minute, log) })
    }

    pub fn deregister(&self, timeout: Duration) -> Result<(), StoreError> {
        self.wait(self.store.deregister(timeout))
    }
}

impl Deref for ServedPostgres {
    type Target = ServedStore;

    fn deref(&self) -> &ServedStore {
        &self.served
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine for Database<'_> {
    fn server_store(&self) -> anyhow::Result<ServedStore> {
        Ok(self.server_of_owner()?.served)
    }

    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        Ok(Box::new(self.commands_of_owner()?))
    }
}

/// Connects to the database at `url`. The connection works only while `runtime` runs.
fn connect(runtime: &Runtime, url: &str) -> anyhow::Result<Client> {
    let connected = runtime.block_on(tokio_postgres::connect(url, NoTls));
    let (client, connection) = connected.with_context(|| url.to_string())?;
    // Ignore the error that ends the connection, because later statements then fail anyway.
    runtime.spawn(async move { drop(connection.await) });
    Ok(client)
}
