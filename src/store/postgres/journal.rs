//! The journal of changes: one row each, written under the lock of `versions`. Its last row is
//! the version of the store, and tells whether what this server has seen is still part of it.

use super::columns::value;
use super::error::{read, unreachable_because, written};
use crate::store::{Half, StoreError, Versions};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Row, ToStatement};

/// The last change, in two pages of the index.
pub const SELECT_LAST: &str =
    "SELECT version, id::text, orders, keys FROM changes ORDER BY version DESC LIMIT 1";

/// [`SELECT_LAST`], and whether the journal has the change of this number and id.
pub const SELECT_LAST_AND_KNOWN: &str = "
    SELECT version, id::text, orders, keys,
           EXISTS (SELECT FROM changes WHERE version = $1 AND id = $2::text::uuid)
    FROM changes ORDER BY version DESC LIMIT 1";

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

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub version: i64,
    /// Tells it from a change of the same number in another history.
    pub id: String,
}

/// The last row of the journal.
#[derive(Clone, Debug)]
pub struct Last {
    /// The last change.
    pub change: Change,
    orders: i64,
    keys: i64,
}

impl Last {
    /// The row of [`SELECT_LAST`].
    pub fn of(rows: &[Row]) -> Result<Last, StoreError> {
        let row = rows.first().ok_or_else(|| {
            unreachable_because(
                "its journal, the table changes, has no row; see store-orders check",
            )
        })?;
        let change = Change { version: value(row, 0)?, id: value(row, 1)? };
        Ok(Last { change, orders: value(row, 2)?, keys: value(row, 3)? })
    }

    /// Both halves' last changes, in this generation.
    pub fn versions(&self, generation: u64) -> Versions {
        Versions { generation, orders: self.orders, keys: self.keys }
    }
}

/// The last change.
pub async fn last(client: &impl GenericClient) -> Result<Last, StoreError> {
    Last::of(&client.query(SELECT_LAST, &[]).await.map_err(read)?)
}

/// The last change, and whether the journal has the one that was seen.
pub async fn last_and_known<S: ToStatement + Sync + ?Sized>(
    client: &Client,
    select_last_and_known: &S,
    seen: &Option<(u64, Change)>,
) -> Result<(Last, bool), StoreError> {
    let (version, id) = seen.as_ref().map(|(_, seen)| (seen.version, &*seen.id)).unzip();
    let rows = client.query(select_last_and_known, &[&version, &id]).await.map_err(read)?;
    Ok((Last::of(&rows)?, rows.first().map_or(Ok(false), |row| value(row, 4))?))
}

/// Writes the change of this number, of the transaction that made it and holds the lock.
pub async fn note(
    transaction: &impl GenericClient,
    version: i64,
    half: Half,
) -> Result<(), StoreError> {
    let insert = "INSERT INTO changes (version, orders, keys)
                  SELECT $1, CASE WHEN $2 THEN $1 ELSE orders END, CASE WHEN $2 THEN keys ELSE $1 END
                  FROM changes ORDER BY version DESC LIMIT 1";
    let is_of_orders = half == Half::Orders;
    transaction.execute(insert, &[&version, &is_of_orders]).await.map_err(written)?;
    Ok(())
}

/// Removes some of the rows that no server needs any more. Returns the last one that was ever
/// removed, which was `floor` before: while a long snapshot keeps them, the dead rows below it
/// are not to be read again.
pub async fn remove_old(client: &Client, floor: i64) -> Result<i64, StoreError> {
    let rows = client.query_typed(REMOVE_OLD, &[(&floor, Type::INT8)]).await.map_err(written)?;
    let removed: Option<i64> = rows.first().map_or(Ok(None), |row| value(row, 0))?;
    Ok(removed.unwrap_or(floor))
}
