//! Imports of orders and pets, for the operator's commands.

use super::long_import::{Pace, READ_AHEAD_LOCK, stored};
use super::{PostgresCommands, lock_versions};
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{postgres_error, read, waited, written};
use crate::store::postgres::journal::{last, note};
use crate::store::postgres::schema::IMPORT_LOCK;
use crate::store::rules::imported;
use crate::store::{Half, ImportOutcome, NewOrder, RecordKind, Records, Status, StoreError};
use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;
use store_orders_api::types::utc_text;
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

/// Ids looked for with one statement, which takes less than a millisecond.
const IDS_AT_ONCE: usize = 1_000;

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
    /// Those of the ids that are in the store, in their order.
    pub fn find_existing(&self, kind: RecordKind, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let query = format!("SELECT id FROM {} WHERE id = ANY($1)", kind.table());
        let mut pace = self.pace()?;
        let existing = self.ask(async |client| {
            let statement = client.prepare(&query).await.map_err(read)?;
            let mut existing = HashSet::<i64>::new();
            for ids in ids.chunks(IDS_AT_ONCE) {
                for row in client.query(&statement, &[&ids]).await.map_err(read)? {
                    existing.insert(value(&row, 0)?);
                }
                pace.after(ids.len()).await;
            }
            Ok(existing)
        })?;
        Ok(ids.iter().copied().filter(|id| existing.contains(id)).collect())
    }

    /// As long as servers use the store, requests come first.
    fn pace(&self) -> Result<Pace, StoreError> {
        Ok(if self.replicas()?.is_empty() { Pace::unlimited() } else { Pace::of_command() })
    }

    /// Stores all of these records or none. One import at a time: two could reserve the same
    /// version, or wait for the ids of each other.
    pub fn import_alone(
        &self,
        records: Records<'_>,
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        if let Records::Pets(pets) = records {
            pets.iter().try_for_each(|pet| refuse_nul(pet.id, &pet.name))?;
        }
        self.ask(async |client| {
            let lock = "SELECT pg_advisory_lock($1)";
            client.execute(lock, &[&IMPORT_LOCK]).await.map_err(waited)
        })?;
        let imported = self.import(records, skip_existing, progress);
        // If this fails the connection was lost, and its locks with it.
        let _ = self.run("SELECT pg_advisory_unlock_all()");
        imported
    }

    /// A long import must not keep cancellations waiting, nor one that is suspended. It writes
    /// with a version far above the newest one, and locks only to commit: no other change commits
    /// in between, those before have lower versions, and those after go on from its version.
    ///
    /// Nor must it keep lists waiting while servers read it. So it is stored first, as rows beyond
    /// the journal's last change, which are in no list. Then servers read it ahead, and its row in
    /// the journal makes all of it a change.
    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        if let Some(version) = self.ask(async |client| stored(client).await)? {
            self.write(async |transaction| show(transaction, version).await)?;
        }
        let (kind, count) = (records.kind(), records.count());
        let is_long = kind == RecordKind::Order && count > MANY_ORDERS;
        let is_read_ahead = is_long && !self.replicas()?.is_empty();
        let store = |known: Option<HashSet<i64>>| {
            self.write(async |transaction| {
                let newest = last(transaction).await?.change.version;
                let version = newest.saturating_add(RESERVED_VERSIONS);
                let pace = if is_read_ahead { Pace::of_command() } else { Pace::unlimited() };
                let copied = copy(transaction, records, version, known, progress, pace).await?;
                if kind == RecordKind::Order && !is_read_ahead {
                    show(transaction, version).await?;
                }
                Ok((copied, version))
            })
        };
        // The commands have looked for the ids, so that hardly ever one is taken.
        let (copied, version) = match store(None) {
            Err(error) if is_taken(&error) => {
                let existing = self.find_existing(kind, &records.ids())?;
                if !skip_existing {
                    return imported(kind, count, 0, false, || Ok(existing.first().copied()));
                }
                store(Some(existing.into_iter().collect()))?
            }
            stored => stored?,
        };
        if is_read_ahead {
            self.await_read_ahead();
            self.write(async |transaction| show(transaction, version).await)?;
        } else if is_long {
            self.analyze();
        }
        Ok(ImportOutcome { imported: copied, skipped: count.saturating_sub(copied) })
    }

    /// Waits until servers have read what is stored: one that does not has its lists wait later.
    /// So failures are of no consequence.
    fn await_read_ahead(&self) {
        // Servers that knew nothing of these orders yet would sort them, each at the same time.
        self.analyze();
        let _ = self.run(&format!("SELECT pg_advisory_lock_shared({READ_AHEAD_LOCK})"));
        std::thread::sleep(READ_AHEAD_BEGINS);
        // To read millions of rows takes longer than anything else that a command waits for.
        let _ = self.run("SET lock_timeout = '1h'");
        let _ = self.run(&format!("SELECT pg_advisory_lock({READ_AHEAD_LOCK})"));
        let _ = self.run("RESET lock_timeout");
    }

    fn run(&self, statement: &str) -> Result<(), StoreError> {
        self.ask(async |client| client.batch_execute(statement).await.map_err(written))
    }

    /// Tells the planner of many new orders at once, not when autovacuum finds them. The
    /// import stands whatever comes of it.
    fn analyze(&self) {
        let _ = self.run("ANALYZE orders");
    }
}

/// Makes the orders of this version a change.
async fn show(transaction: &Transaction<'_>, version: i64) -> Result<(), StoreError> {
    if lock_versions(transaction).await? > version {
        return Err(StoreError::Refused(
            "orders changed too often while these were written; nothing was imported".to_string(),
        ));
    }
    note(transaction, version, Half::Orders).await
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

/// Copies the records into their table, but for those whose ids are `known`, and returns their
/// number.
async fn copy(
    transaction: &Transaction<'_>,
    records: Records<'_>,
    version: i64,
    mut known: Option<HashSet<i64>>,
    progress: &dyn Fn(),
    mut pace: Pace,
) -> Result<usize, StoreError> {
    // The attempt that found an id taken has told of the records already.
    let mut is_new = |id| match &mut known {
        Some(known) => known.insert(id),
        None => {
            progress();
            true
        }
    };
    let copied = match records {
        Records::Orders(orders) => {
            let columns = [
                ("id", Type::INT8),
                ("pet_id", Type::INT8),
                ("quantity", Type::INT4),
                ("ship_date", Type::TEXT),
                ("complete", Type::BOOL),
                ("status", Type::TEXT),
                ("changed_in", Type::INT8),
            ];
            let mut copying = Copying::begin(transaction, "orders", &columns).await?;
            for order in orders.iter().filter(|order| is_new(order.id)) {
                let ship_date = order.ship_date.as_ref().map(utc_text);
                let status = if order.shipped { Status::Shipped } else { Status::Pending }.as_str();
                let NewOrder { id, pet_id, quantity, complete, .. } = order;
                let row: [&(dyn ToSql + Sync); 7] =
                    [id, pet_id, quantity, &ship_date, complete, &status, &version];
                copying.write(&row).await?;
                pace.after(1).await;
            }
            copying.finish().await?
        }
        Records::Pets(pets) => {
            let columns = [("id", Type::INT8), ("name", Type::TEXT)];
            let mut copying = Copying::begin(transaction, "pets", &columns).await?;
            for pet in pets.iter().filter(|pet| is_new(pet.id)) {
                copying.write(&[&pet.id, &pet.name]).await?;
            }
            copying.finish().await?
        }
    };
    Ok(usize::try_from(copied).unwrap_or(usize::MAX))
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
    postgres_error(error).is_some_and(|error| error.state == Some(SqlState::UNIQUE_VIOLATION))
}
