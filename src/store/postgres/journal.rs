//! The journal of changes: one row each, written under the lock of `versions`. Its last row is
//! the version of the store, and tells whether what this server has seen is still part of it.

use super::columns::value;
use super::error::{read, unreachable_because, written};
use crate::store::{StoreError, Versions};
use tokio_postgres::{Client, GenericClient, Row};

/// The last change, in two pages of the index: what an import holds uncommitted is not read.
pub const SELECT_LAST: &str =
    "SELECT version, id::text, orders, keys FROM changes ORDER BY version DESC LIMIT 1";

/// The same, and whether the journal has the change of this number and id.
pub const SELECT_LAST_AND_KNOWN: &str = "
    SELECT version, id::text, orders, keys,
           EXISTS (SELECT FROM changes WHERE version = $1 AND id = $2::text::uuid)
    FROM changes ORDER BY version DESC LIMIT 1";

/// Rows of the journal that are removed at once, and how old they are: a server that was away
/// for longer reads everything again. At 2,000 changes a second they take 120 MB.
const REMOVE_OLD: &str = "
    DELETE FROM changes WHERE version IN (
        SELECT version FROM (SELECT * FROM changes ORDER BY version LIMIT 5000) AS oldest
        WHERE made_at < now() - interval '10 minutes'
          AND version < (SELECT max(version) FROM changes))";

/// A half of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Orders.
    Orders,
    /// Accounts and keys.
    Keys,
}

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

/// Writes the change of this number, of the transaction that made it and holds the lock.
pub async fn note(
    transaction: &impl GenericClient,
    version: i64,
    half: Half,
) -> Result<(), StoreError> {
    let insert = match half {
        Half::Orders => {
            "INSERT INTO changes (version, orders, keys)
             SELECT $1, $1, keys FROM changes ORDER BY version DESC LIMIT 1"
        }
        Half::Keys => {
            "INSERT INTO changes (version, orders, keys)
             SELECT $1, orders, $1 FROM changes ORDER BY version DESC LIMIT 1"
        }
    };
    transaction.execute(insert, &[&version]).await.map_err(written)?;
    Ok(())
}

/// Removes some of the rows that no server needs any more.
pub async fn remove_old(client: &Client) -> Result<(), StoreError> {
    client.batch_execute(REMOVE_OLD).await.map_err(written)
}
