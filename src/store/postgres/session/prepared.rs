//! The prepared statements of a session. Only prepared statements can be pipelined, that is, sent
//! before the previous one is answered.

use crate::store::account_rows::{select_changed_keys, select_keys};
use crate::store::postgres::journal::{CHANGE_ID, LOCK_CHANGES, select_last_and_known};
use tokio_postgres::{Client, Error, Statement};

/// Limits lock waits within the transaction. `SET LOCAL` takes no parameters.
const LIMIT_LOCK_WAITS: &str = "SELECT set_config('lock_timeout', $1, true)";

/// Cancels the pending orders of a batch, and selects the resulting state of each order. With READ
/// COMMITTED the snapshot is taken after the change lock. So each order that is not cancelled here
/// was shipped, cancelled (perhaps by an earlier attempt of this batch) or absent before.
fn update_orders() -> String {
    format!(
        "
    WITH last AS (SELECT change_number, orders, keys FROM changes ORDER BY change_number DESC LIMIT 1),
    cancelled AS (
        UPDATE orders o
        SET status = 'cancelled', change_number = last.change_number + 1, cancelled_at = a.at,
            cancelled_by = a.key, cancelled_in = $4
        FROM unnest($1::bigint[], $2::text[], $3::text[]) a (id, key, at), last
        WHERE o.id = a.id AND o.status = 'pending'
        RETURNING o.id),
    change AS (
        INSERT INTO changes (change_number, orders, keys)
        SELECT change_number + 1, change_number + 1, keys FROM last WHERE EXISTS (SELECT FROM cancelled)
        RETURNING change_number, {CHANGE_ID} AS id)
    SELECT a.id,
           CASE WHEN cancelled.id IS NULL THEN
               (SELECT CASE WHEN cancelled_in = $4 THEN 'own' ELSE status END
                FROM orders WHERE id = a.id)
           ELSE 'own' END,
           last.orders, change.change_number, change.id,
           EXISTS (SELECT FROM changes WHERE change_number = $5 AND {CHANGE_ID} = $6)
    FROM unnest($1::bigint[]) a (id) LEFT JOIN cancelled ON cancelled.id = a.id, last
    LEFT JOIN change ON true"
    )
}

/// The statements of a batch's transaction.
pub struct BatchStatements {
    pub begin: Statement,
    /// Sets the transaction's `lock_timeout`.
    pub limit_lock_waits: Statement,
    /// Takes the change lock.
    pub lock: Statement,
    /// Cancels the pending orders, and returns the state of each order. Parameters: ids, keys,
    /// times, the batch's id, and the number and id of the last seen change.
    pub update: Statement,
    pub commit: Statement,
}

impl BatchStatements {
    /// Prepares the statements on the writer's connection.
    pub async fn prepare(client: &Client) -> Result<BatchStatements, Error> {
        Ok(BatchStatements {
            begin: client.prepare("BEGIN").await?,
            limit_lock_waits: client.prepare(LIMIT_LOCK_WAITS).await?,
            lock: client.prepare(LOCK_CHANGES).await?,
            update: client.prepare(&update_orders()).await?,
            commit: client.prepare("COMMIT").await?,
        })
    }
}

/// The statements of a heartbeat's transaction.
pub struct HeartbeatStatements {
    pub begin: Statement,
    /// Locks the row of a replica. Returns the number of the journal's last change.
    pub lock: Statement,
    /// Updates the row of a replica, and returns the number of the journal's last change.
    /// Parameters: id, address, last change of the list.
    pub update: Statement,
    pub commit: Statement,
}

impl HeartbeatStatements {
    /// Prepares the statements on the heartbeat's connection.
    pub async fn prepare(client: &Client) -> Result<HeartbeatStatements, Error> {
        let lock = "SELECT (SELECT max(change_number) FROM changes)
                    FROM replicas WHERE id = $1 FOR NO KEY UPDATE";
        let update = "UPDATE replicas SET heard_at = now(), address = $2, list_change_number = $3
                      WHERE id = $1 RETURNING (SELECT max(change_number) FROM changes)";
        Ok(HeartbeatStatements {
            begin: client.prepare("BEGIN").await?,
            lock: client.prepare(lock).await?,
            update: client.prepare(update).await?,
            commit: client.prepare("COMMIT").await?,
        })
    }
}

/// The first column of a [`KeyChange`](crate::store::KeyChange) in the rows of [`KeyStatements`].
/// The columns before it are for [`parse_answer`](super::super::journal::parse_answer).
pub const KEY_COLUMNS: usize = 5;

/// Statements for keys. Each reads the store's last change. `changed` and `look_up` also read
/// accounts and keys, in the same database snapshot. `$1` and `$2` are the number and id of the
/// last seen change.
pub struct KeyStatements {
    /// Selects only the last change.
    pub last_change: Statement,
    /// Selects accounts and keys that changed after the change number `$3`.
    pub changed: Statement,
    /// Selects the keys with the digests `$3`.
    pub look_up: Statement,
}

impl KeyStatements {
    /// Prepares the statements on the freshness connection.
    pub async fn prepare(client: &Client) -> Result<KeyStatements, Error> {
        let changed = select_changed_keys("CAST($3 AS bigint)");
        let look_up = select_keys("(SELECT * FROM keys WHERE digest = ANY (CAST($3 AS bytea[])))");
        Ok(KeyStatements {
            last_change: client.prepare(&select_last_and_known()).await?,
            changed: client.prepare(&with_last_change(&changed)).await?,
            look_up: client.prepare(&with_last_change(&look_up)).await?,
        })
    }
}

fn with_last_change(rows: &str) -> String {
    format!(
        "SELECT last.*, rows.* FROM ({}) AS last LEFT JOIN ({rows}) AS rows ON true",
        select_last_and_known()
    )
}
