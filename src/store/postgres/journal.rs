//! The journal in the table `changes`. Each change adds a row. The last row has the numbers of the
//! last changes of orders and of keys.
//!
//! When a server reads the last row, the server also checks that the journal has the last change
//! that the server has seen. [`agreement::journal`](journal) says why.

use super::error::{lock_error, read_error, require_one_row, unreachable_because, write_error};
use super::rows::value;
use crate::store::agreement::journal;
use crate::store::{ChangeScope, LastChanges, StoreError};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient, Row, Transaction};

/// The id of a change in the table `changes`. It consists of the column `id` and the oid of the
/// table.
///
/// `pg_restore --clean` creates a new table with the old values of the column, so only the oid
/// reveals the restore. `VACUUM FULL` keeps the oid.
pub const CHANGE_ID: &str = "id::text || ' ' || tableoid";

/// Selects the numbers in the journal's last row. The statement reads only the end of the index.
pub const SELECT_LAST: &str =
    "SELECT change_number, orders, keys FROM changes ORDER BY change_number DESC LIMIT 1";

/// The number of columns that [`select_last_and_known`] selects. If a query joins rows of orders or
/// keys, their columns come next.
pub const ANSWER_COLUMNS: usize = 5;

/// Returns a query for the last change. `$1` and `$2` are the number and the id of the last change
/// that the server has seen. The query also returns whether the journal has that change.
pub fn select_last_and_known() -> String {
    format!(
        "
    SELECT change_number, {CHANGE_ID} AS id, orders, keys,
           EXISTS (SELECT FROM changes WHERE change_number = $1 AND {CHANGE_ID} = $2) AS is_known
    FROM changes ORDER BY change_number DESC LIMIT 1"
    )
}

/// Removes up to 5,000 rows whose successor is more than 10 minutes old. Keeps the row of the last
/// change, because servers look it up.
///
/// A server that was disconnected for more than 10 minutes may have to reread the whole list. At
/// 2,000 changes a second, the table takes 120 MB.
const REMOVE_OLD: &str = "
    WITH oldest AS (
        SELECT change_number, lead(made_at) OVER (ORDER BY change_number) AS followed_at
        FROM (SELECT change_number, made_at FROM changes WHERE change_number > $1
              ORDER BY change_number LIMIT 5001) AS read),
    removed AS (
        DELETE FROM changes WHERE change_number > $1 AND change_number <= (
            SELECT max(change_number) FROM oldest
            WHERE followed_at < clock_timestamp() - interval '10 minutes')
        RETURNING change_number)
    SELECT max(change_number) FROM removed";

pub type JournalChange = journal::Change<String>;

pub type JournalSeen = journal::Seen<String>;

/// A primary's answer to the query [`select_last_and_known`].
pub type JournalAnswer = journal::Answer<String>;

/// Reads the answer to [`select_last_and_known`] from the first row. If the query joins other rows
/// to the answer, each row of the result repeats the answer's columns.
pub fn parse_answer(rows: &[Row]) -> Result<JournalAnswer, StoreError> {
    let row = first(rows)?;
    let last = JournalChange { number: value(row, 0)?, id: value(row, 1)? };
    Ok(JournalAnswer::new(last, value(row, 2)?, value(row, 3)?, value(row, 4)?))
}

/// Reads the last changes of orders and of keys from the row of [`SELECT_LAST`].
pub fn parse_last_changes(rows: &[Row]) -> Result<LastChanges, StoreError> {
    let row = first(rows)?;
    Ok(LastChanges::new(0, value(row, 1)?, value(row, 2)?))
}

fn first(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| {
        unreachable_because("its journal, the table changes, has no row; see store-orders check")
    })
}

/// Reads the number of the last change of any kind, and the positions of the last changes of orders
/// and of keys.
pub async fn read_last(client: &impl GenericClient) -> Result<(i64, LastChanges), StoreError> {
    let rows = client.query(SELECT_LAST, &[]).await.map_err(read_error)?;
    Ok((value(first(&rows)?, 0)?, parse_last_changes(&rows)?))
}

/// Queries the last change in the journal, and whether the journal contains the last change that
/// this server has seen.
pub async fn query_journal(
    client: &Client,
    seen: &JournalSeen,
) -> Result<JournalAnswer, StoreError> {
    let (number, id) = seen.last().map(|seen| (seen.number, &*seen.id)).unzip();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&number, Type::INT8), (&id, Type::TEXT)];
    let rows = client.query_typed(&select_last_and_known(), &parameters).await;
    parse_answer(&rows.map_err(read_error)?)
}

/// Takes the change lock until the transaction ends, so that only one transaction at a time makes
/// changes.
pub const LOCK_CHANGES: &str = "SELECT FROM change_lock FOR NO KEY UPDATE";

/// Takes the change lock. Returns the next change number.
pub async fn lock_changes(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let locked = transaction.query(LOCK_CHANGES, &[]).await.map_err(lock_error)?;
    require_one_row("change_lock", locked.len())?;
    Ok(read_last(transaction).await?.0 + 1)
}

/// Adds a change to the journal. The transaction must hold the change lock.
pub async fn record_change(
    transaction: &impl GenericClient,
    change_number: i64,
    scope: ChangeScope,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO changes (change_number, orders, keys)
                  SELECT $1, CASE WHEN $2 THEN $1 ELSE orders END, CASE WHEN $2 THEN keys ELSE $1 END
                  FROM changes ORDER BY change_number DESC LIMIT 1";
    let is_of_orders = scope == ChangeScope::Orders;
    transaction.execute(insert, &[&change_number, &is_of_orders]).await.map_err(write_error)?;
    Ok(())
}

/// Adds the next change to the journal. If `$1` is true, the change concerns orders, otherwise
/// accounts and keys. Aborts the transaction, by inserting NULL as the change number, in these
/// cases:
///
/// - One of the orders `$2` has changed after the change `$3`.
/// - `$1` is false, and `$4` is not the last change of accounts or keys in the journal.
/// - The table `change_lock` is empty, so the transaction holds no lock.
///
/// The first case ignores damaged orders, whose change number is above the journal's last number.
/// Otherwise nobody could change a damaged order.
pub const RECORD_UNLESS_CHANGED: &str = "
    INSERT INTO changes (change_number, orders, keys)
    SELECT CASE WHEN EXISTS (SELECT FROM change_lock) AND ($1 OR keys = $4) AND NOT EXISTS (
                    SELECT FROM orders
                    WHERE id = ANY($2) AND change_number > $3 AND change_number <= changes.change_number)
                THEN change_number + 1 END,
           CASE WHEN $1 THEN change_number + 1 ELSE orders END,
           CASE WHEN $1 THEN keys ELSE change_number + 1 END
    FROM changes ORDER BY change_number DESC LIMIT 1";

/// Executes `REMOVE_OLD`. Pass the previous result as `floor`, or 0 in the first call. The search
/// skips rows up to `floor`, because an old transaction can keep removed rows in the table.
pub async fn remove_old(client: &Client, floor: i64) -> Result<i64, StoreError> {
    let rows =
        client.query_typed(REMOVE_OLD, &[(&floor, Type::INT8)]).await.map_err(write_error)?;
    let removed: Option<i64> = rows.first().map_or(Ok(None), |row| value(row, 0))?;
    Ok(removed.unwrap_or(floor))
}
