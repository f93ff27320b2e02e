//! Imports of orders and pets, for the operator's commands.

use super::{PostgresCommands, lock_versions};
use crate::store::postgres::PostgresError;
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{read, waited, written};
use crate::store::postgres::importing::{READ_AHEAD_LOCK, stored};
use crate::store::postgres::journal::{Half, last, note};
use crate::store::postgres::schema::{IMPORT_LOCK, with_notice};
use crate::store::rules::imported;
use crate::store::{ImportOutcome, NewOrder, Status, StoreError};
use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;
use store_orders_api::types::{Pet, utc_text};
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

/// Ids looked for with one statement.
const IDS_AT_ONCE: usize = 50_000;

/// Fewer new orders do not change how queries are planned, and servers read them in less time
/// than a list may take.
const MANY_ORDERS: usize = 5_000;

/// How long an import waits for servers to begin to read it ahead: they look twice a second.
const READ_AHEAD_BEGINS: Duration = Duration::from_secs(2);

/// How far above the newest version an import reserves its own: as many changes may be
/// committed while it is written. At 10,000 a second they take a day, and the numbers suffice for
/// nine billion imports.
const RESERVED_VERSIONS: i64 = 1_000_000_000;

impl PostgresCommands {
    /// Those of the ids that `select` finds, in their order.
    pub fn existing(&self, select: &str, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let existing = self.ask(async |client| {
            let statement = client.prepare(select).await.map_err(read)?;
            let mut existing = HashSet::<i64>::new();
            for ids in ids.chunks(IDS_AT_ONCE) {
                for row in client.query(&statement, &[&ids]).await.map_err(read)? {
                    existing.insert(value(&row, 0)?);
                }
            }
            Ok(existing)
        })?;
        Ok(ids.iter().copied().filter(|id| existing.contains(id)).collect())
    }

    /// Stores all of these orders or none. An id that is in the store already is
    /// refused, or skipped with `skip_existing`. `progress` is called once per order.
    pub fn import_orders(
        &self,
        orders: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        // The commands have looked for the ids, so that hardly ever one is taken.
        let is_long = orders.len() > MANY_ORDERS;
        let copied = self.import(is_long, async |transaction, version| {
            let orders = orders.iter().inspect(|_| progress()).map(|order| (order, version));
            copy_orders(transaction, "orders", "changed_in", orders).await
        });
        match copied {
            Err(error) if is_taken(&error) => {}
            copied => {
                copied?;
                return imported("order", orders.len(), orders.len(), skip_existing, || Ok(None));
            }
        }
        self.import(is_long, async |transaction, version| {
            stage_orders(transaction, orders).await?;
            let first_taken = first_taken(transaction, "orders").await?;
            let insert = "
                INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, changed_in)
                SELECT id, pet_id, quantity, ship_date, complete, status, $1
                FROM staged ORDER BY position ON CONFLICT (id) DO NOTHING";
            let stored = transaction.execute(insert, &[&version]).await.map_err(written)?;
            imported("order", orders.len(), count(stored), skip_existing, || Ok(first_taken))
        })
    }

    /// Stores all of these pets or none. An id that is in the store already is refused,
    /// or skipped with `skip_existing`. `progress` is called once per pet.
    pub fn import_pets(
        &self,
        pets: &[Pet],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        pets.iter().try_for_each(|pet| refuse_nul(pet.id, &pet.name))?;
        self.write(async |transaction| {
            self.wait_for_imports(transaction).await?;
            stage_pets(transaction, pets, progress).await?;
            let first_taken = first_taken(transaction, "pets").await?;
            let insert = "INSERT INTO pets (id, name) SELECT id, name FROM staged
                          ORDER BY position ON CONFLICT (id) DO NOTHING";
            let stored = transaction.execute(insert, &[]).await.map_err(written)?;
            imported("pet", pets.len(), count(stored), skip_existing, || Ok(first_taken))
        })
    }

    /// Does `write` in one transaction; it is given the version of the orders that it
    /// writes.
    ///
    /// A long import must not keep cancellations waiting, nor one that is suspended. It writes
    /// with a version far above the newest one, and locks only to commit: no other change commits
    /// in between, those before have lower versions, and those after go on from its version.
    ///
    /// Nor must it keep lists waiting while servers read it. So it is stored first, as rows beyond
    /// the journal's last change, which are in no list. Then servers read it ahead, and its row in
    /// the journal makes all of it a change.
    fn import<T>(
        &self,
        is_long: bool,
        write: impl AsyncFnOnce(&Transaction<'_>, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.ask(async |client| {
            let lock = client.execute("SELECT pg_advisory_lock($1)", &[&IMPORT_LOCK]);
            with_notice(lock, self.notice).await.map_err(waited)
        })?;
        let imported = self.import_alone(is_long, write);
        // If this fails the connection was lost, and its locks with it.
        let _ = self.run("SELECT pg_advisory_unlock_all()");
        imported
    }

    fn import_alone<T>(
        &self,
        is_long: bool,
        write: impl AsyncFnOnce(&Transaction<'_>, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(version) = self.ask(async |client| stored(client).await)? {
            self.write(async |transaction| self.show(transaction, version).await)?;
        }
        let is_read_ahead = is_long && !self.replicas()?.is_empty();
        let (done, version) = self.write(async |transaction| {
            let newest = last(transaction).await?.change.version;
            let version = newest.saturating_add(RESERVED_VERSIONS);
            let done = write(transaction, version).await?;
            if !is_read_ahead {
                self.show(transaction, version).await?;
            }
            Ok((done, version))
        })?;
        if is_read_ahead {
            self.await_read_ahead();
            self.write(async |transaction| self.show(transaction, version).await)?;
        } else if is_long {
            self.analyze();
        }
        Ok(done)
    }

    /// Makes the orders of this version a change.
    async fn show(&self, transaction: &Transaction<'_>, version: i64) -> Result<(), StoreError> {
        if lock_versions(transaction, self.notice).await? > version {
            return Err(StoreError::Refused(
                "orders changed too often while these were written; nothing was imported"
                    .to_string(),
            ));
        }
        note(transaction, version, Half::Orders).await
    }

    /// Waits until servers have read what is stored: one that does not has its lists wait later.
    /// So failures are of no consequence.
    fn await_read_ahead(&self) {
        let _ = self.run(&format!("SELECT pg_advisory_lock_shared({READ_AHEAD_LOCK})"));
        self.analyze();
        std::thread::sleep(READ_AHEAD_BEGINS);
        // To read millions of rows takes longer than anything else that a command waits for.
        let _ = self.run("SET lock_timeout = '5min'");
        let _ = self.run(&format!("SELECT pg_advisory_lock({READ_AHEAD_LOCK})"));
        let _ = self.run("RESET lock_timeout");
    }

    fn run(&self, statement: &str) -> Result<(), StoreError> {
        self.ask(async |client| client.batch_execute(statement).await.map_err(written))
    }

    /// One import at a time: two could reserve the same version, or wait for the ids of each
    /// other.
    async fn wait_for_imports(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let lock = transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&IMPORT_LOCK]);
        with_notice(lock, self.notice).await.map_err(waited)?;
        Ok(())
    }

    /// Tells the planner of many new orders at once, not when autovacuum finds them. The
    /// import stands whatever comes of it.
    fn analyze(&self) {
        let _ = self.run("ANALYZE orders");
    }
}

/// Rows on their way into a table. Dropped before it is finished, none is written.
pub struct Copying {
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl Copying {
    /// Begins to copy into this table; `columns` are names and types.
    pub async fn begin(
        transaction: &Transaction<'_>,
        table: &str,
        columns: &[(&str, Type)],
    ) -> Result<Copying, StoreError> {
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let types: Vec<_> = columns.iter().map(|(_, kind)| kind.clone()).collect();
        let names = names.join(", ");
        let statement = format!("COPY {table} ({names}) FROM STDIN (FORMAT binary)");
        let sink = transaction.copy_in(&statement).await.map_err(written)?;
        Ok(Copying { writer: Box::pin(BinaryCopyInWriter::new(sink, &types)) })
    }

    /// Adds a row, with its values in the order of the columns.
    pub async fn write(&mut self, row: &[&(dyn ToSql + Sync)]) -> Result<(), StoreError> {
        self.writer.as_mut().write(row).await.map_err(written)
    }

    /// Ends the copy, and returns the number of rows that were written.
    pub async fn finish(mut self) -> Result<u64, StoreError> {
        self.writer.as_mut().finish().await.map_err(written)
    }
}

/// Copies the orders into this table, each with the number that it is given.
async fn copy_orders(
    transaction: &Transaction<'_>,
    table: &str,
    number_column: &str,
    orders: impl Iterator<Item = (&NewOrder, i64)>,
) -> Result<(), StoreError> {
    let columns = [
        ("id", Type::INT8),
        ("pet_id", Type::INT8),
        ("quantity", Type::INT4),
        ("ship_date", Type::TEXT),
        ("complete", Type::BOOL),
        ("status", Type::TEXT),
        (number_column, Type::INT8),
    ];
    let mut copying = Copying::begin(transaction, table, &columns).await?;
    for (order, number) in orders {
        let ship_date = order.ship_date.as_ref().map(utc_text);
        let status = if order.shipped { Status::Shipped } else { Status::Pending }.as_str();
        let NewOrder { id, pet_id, quantity, complete, .. } = order;
        copying.write(&[id, pet_id, quantity, &ship_date, complete, &status, &number]).await?;
    }
    copying.finish().await.map(drop)
}

/// Writes the orders to a table of this transaction alone.
async fn stage_orders(
    transaction: &Transaction<'_>,
    orders: &[NewOrder],
) -> Result<(), StoreError> {
    let table = "CREATE TEMP TABLE staged (id bigint, pet_id bigint, quantity integer,
                     ship_date text, complete boolean, status text, position bigint)
                 ON COMMIT DROP";
    transaction.batch_execute(table).await.map_err(written)?;
    copy_orders(transaction, "staged", "position", orders.iter().zip(1..)).await
}

/// The same for pets.
async fn stage_pets(
    transaction: &Transaction<'_>,
    pets: &[Pet],
    progress: &dyn Fn(),
) -> Result<(), StoreError> {
    let table = "CREATE TEMP TABLE staged (id bigint, name text, position bigint) ON COMMIT DROP";
    transaction.batch_execute(table).await.map_err(written)?;
    let columns = [("id", Type::INT8), ("name", Type::TEXT), ("position", Type::INT8)];
    let mut copying = Copying::begin(transaction, "staged", &columns).await?;
    for (pet, position) in pets.iter().zip(1_i64..) {
        copying.write(&[&pet.id, &pet.name, &position]).await?;
        progress();
    }
    copying.finish().await.map(drop)
}

/// The first staged id that is in this table already.
async fn first_taken(
    transaction: &Transaction<'_>,
    table: &str,
) -> Result<Option<i64>, StoreError> {
    let query =
        format!("SELECT staged.id FROM staged JOIN {table} USING (id) ORDER BY position LIMIT 1");
    let row = transaction.query_opt(&query, &[]).await.map_err(read)?;
    row.map(|row| value(&row, 0)).transpose()
}

/// Refuses the one character that PostgreSQL does not store.
pub fn refuse_nul(pet: i64, name: &str) -> Result<(), StoreError> {
    if !name.contains('\0') {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the name of pet {pet} has a NUL character, which the database does not store; nothing was \
         imported"
    )))
}

/// Whether an id was in the store already, or twice among those given.
fn is_taken(error: &StoreError) -> bool {
    let StoreError::Engine { source, .. } = error else { return false };
    let error: Option<&PostgresError> = source.downcast_ref();
    error.is_some_and(|error| error.state == Some(SqlState::UNIQUE_VIOLATION))
}

pub fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
