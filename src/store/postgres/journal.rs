//! The journal of changes: one row each, written under the lock of changes. Its last row has the
//! numbers of the last changes. A server also looks the last change up that it has seen: a journal
//! without it is another history.
//!
//! Change numbers are in the columns `changes.version` and `changed_in` of orders, accounts and
//! keys.

use super::error::{read, require_one_row, unreachable_because, waited, written};
use super::rows::value;
use crate::store::agreement::journal;
use crate::store::{ChangeScope, LastChanges, StoreError};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, Row, Transaction};

/// The id of a change of the table `changes`. A table that `pg_restore --clean` has put back has
/// another oid, which VACUUM FULL does not change.
pub const CHANGE_ID: &str = "id::text || ' ' || tableoid";

/// The numbers of the last change, in two pages of the index.
pub const SELECT_LAST: &str =
    "SELECT version, orders, keys FROM changes ORDER BY version DESC LIMIT 1";

/// Selects the last change, and whether the journal has the change of this number and id.
pub fn select_last_and_known() -> String {
    format!(
        "
    SELECT version, {CHANGE_ID}, orders, keys,
           EXISTS (SELECT FROM changes WHERE version = $1 AND {CHANGE_ID} = $2)
    FROM changes ORDER BY version DESC LIMIT 1"
    )
}

/// Removes up to 5,000 rows that were followed by the next one more than 10 minutes ago: a server
/// that was away for longer reads everything again. The last of a quiet store stays for as long
/// after the next. At 2,000 changes a second they take 120 MB.
const REMOVE_OLD: &str = "
    WITH oldest AS (
        SELECT version, lead(made_at) OVER (ORDER BY version) AS followed_at
        FROM (SELECT version, made_at FROM changes WHERE version > $1
              ORDER BY version LIMIT 5001) AS read),
    removed AS (
        DELETE FROM changes WHERE version > $1 AND version <= (
            SELECT max(version) FROM oldest
            WHERE followed_at < clock_timestamp() - interval '10 minutes')
        RETURNING version)
    SELECT max(version) FROM removed";

/// A change of this store.
pub type JournalChange = journal::Change<String>;

/// The last change that this process has seen.
pub type JournalSeen = journal::Seen<String>;

/// The answer of a primary.
pub type JournalAnswer = journal::Answer<String>;

/// Reads an answer from its first row: the last row of the journal, and, in the fifth column, whether
/// the journal has the change that was asked for.
pub fn answer_of(rows: &[Row]) -> Result<JournalAnswer, StoreError> {
    let row = first(rows)?;
    let last = JournalChange { number: value(row, 0)?, id: value(row, 1)? };
    Ok(JournalAnswer::new(last, value(row, 2)?, value(row, 3)?, value(row, 4)?))
}

/// Both halves' last changes, of the row of [`SELECT_LAST`].
pub fn last_changes_of(rows: &[Row]) -> Result<LastChanges, StoreError> {
    let row = first(rows)?;
    Ok(LastChanges { generation: 0, orders: value(row, 1)?, keys: value(row, 2)? })
}

fn first(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| {
        unreachable_because("its journal, the table changes, has no row; see store-orders check")
    })
}

/// The number of the last change, and both halves' last changes.
pub async fn last(client: &impl GenericClient) -> Result<(i64, LastChanges), StoreError> {
    let rows = client.query(SELECT_LAST, &[]).await.map_err(read)?;
    Ok((value(first(&rows)?, 0)?, last_changes_of(&rows)?))
}

/// What the primary tells who has seen this.
pub async fn ask_once(client: &Client, seen: &JournalSeen) -> Result<JournalAnswer, StoreError> {
    let (number, id) = seen.last().map(|seen| (seen.number, &*seen.id)).unzip();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&number, Type::INT8), (&id, Type::TEXT)];
    let rows = client.query_typed(&select_last_and_known(), &parameters).await;
    answer_of(&rows.map_err(read)?)
}

/// Takes the lock of changes: waits for all others, and keeps them waiting until the transaction
/// ends. The table `versions` is this lock, and holds nothing else.
pub const LOCK_CHANGES: &str = "SELECT FROM versions FOR NO KEY UPDATE";

/// Takes the lock of changes. Returns the next change number.
pub async fn lock_changes(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let locked = transaction.query(LOCK_CHANGES, &[]).await.map_err(waited)?;
    require_one_row("versions", locked.len())?;
    Ok(last(transaction).await?.0 + 1)
}

/// Writes the change of this number, of the transaction that made it and holds the lock.
pub async fn note(
    transaction: &impl GenericClient,
    change_number: i64,
    scope: ChangeScope,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO changes (version, orders, keys)
                  SELECT $1, CASE WHEN $2 THEN $1 ELSE orders END, CASE WHEN $2 THEN keys ELSE $1 END
                  FROM changes ORDER BY version DESC LIMIT 1";
    let is_of_orders = scope == ChangeScope::Orders;
    transaction.execute(insert, &[&change_number, &is_of_orders]).await.map_err(written)?;
    Ok(())
}

/// Writes the next change, of orders if `$1`. Its number is NULL, an error that ends the transaction,
/// if one of the orders `$2` was changed after the change `$3`, or a key after `$4`; it is also NULL
/// where there is no lock to take. A damaged row that is ahead of the journal does not count.
pub const NOTE_UNLESS_CHANGED: &str = "
    INSERT INTO changes (version, orders, keys)
    SELECT CASE WHEN EXISTS (SELECT FROM versions) AND ($1 OR keys = $4) AND NOT EXISTS (
                    SELECT FROM orders
                    WHERE id = ANY($2) AND changed_in > $3 AND changed_in <= changes.version)
                THEN version + 1 END,
           CASE WHEN $1 THEN version + 1 ELSE orders END,
           CASE WHEN $1 THEN keys ELSE version + 1 END
    FROM changes ORDER BY version DESC LIMIT 1";

/// Removes some of the rows that no server needs any more. Returns the last one that was ever
/// removed, which was `floor` before: while a long snapshot keeps them, the dead rows below it
/// are not to be read again.
pub async fn remove_old(client: &Client, floor: i64) -> Result<i64, StoreError> {
    let rows = client.query_typed(REMOVE_OLD, &[(&floor, Type::INT8)]).await.map_err(written)?;
    let removed: Option<i64> = rows.first().map_or(Ok(None), |row| value(row, 0))?;
    Ok(removed.unwrap_or(floor))
}
