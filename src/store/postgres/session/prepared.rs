//! The statements of a session, prepared: only those are sent without waiting for the answer
//! to the one before.

use crate::store::account_rows::{select_changed_keys, select_keys};
use crate::store::postgres::journal::{CHANGE_ID, LOCK_CHANGES, select_last_and_known};
use tokio_postgres::{Client, Error, Statement};

/// For this transaction alone: SET takes no parameter.
const LIMIT_LOCK_WAITS: &str = "SELECT set_config('lock_timeout', $1, true)";

/// READ COMMITTED: its snapshot is taken after the lock, so what it finds of those that it does not
/// cancel does not change any more: shipped, cancelled, by this batch's earlier attempt maybe, or
/// not there.
fn update() -> String {
    format!(
        "
    WITH last AS (SELECT version, orders, keys FROM changes ORDER BY version DESC LIMIT 1),
    cancelled AS (
        UPDATE orders o
        SET status = 'cancelled', changed_in = last.version + 1, cancelled_at = a.at,
            cancelled_by = a.key, cancelled_in = $4
        FROM unnest($1::bigint[], $2::text[], $3::text[]) a (id, key, at), last
        WHERE o.id = a.id AND o.status = 'pending'
        RETURNING o.id),
    change AS (
        INSERT INTO changes (version, orders, keys)
        SELECT version + 1, version + 1, keys FROM last WHERE EXISTS (SELECT FROM cancelled)
        RETURNING version, {CHANGE_ID} AS id)
    SELECT a.id,
           CASE WHEN cancelled.id IS NULL THEN
               (SELECT CASE WHEN cancelled_in = $4 THEN 'own' ELSE status END
                FROM orders WHERE id = a.id)
           ELSE 'own' END,
           last.orders, change.version, change.id,
           EXISTS (SELECT FROM changes WHERE version = $5 AND {CHANGE_ID} = $6)
    FROM unnest($1::bigint[]) a (id) LEFT JOIN cancelled ON cancelled.id = a.id, last
    LEFT JOIN change ON true"
    )
}

/// The transaction of a batch.
pub struct BatchStatements {
    /// BEGIN.
    pub begin: Statement,
    /// Has the transaction wait for locks for no longer than this.
    pub limit_lock_waits: Statement,
    /// Waits for every other change.
    pub lock: Statement,
    /// Cancels those that are pending, and tells what became of each: ids, keys, times, the
    /// batch's id, and the number and id of the last change that was seen.
    pub update: Statement,
    /// COMMIT.
    pub commit: Statement,
}

impl BatchStatements {
    /// Prepares them on the writer's connection.
    pub async fn prepare(client: &Client) -> Result<BatchStatements, Error> {
        Ok(BatchStatements {
            begin: client.prepare("BEGIN").await?,
            limit_lock_waits: client.prepare(LIMIT_LOCK_WAITS).await?,
            lock: client.prepare(LOCK_CHANGES).await?,
            update: client.prepare(&update()).await?,
            commit: client.prepare("COMMIT").await?,
        })
    }
}

/// The transaction of a heartbeat.
pub struct HeartbeatStatements {
    /// BEGIN.
    pub begin: Statement,
    /// Locks the row of a replica. Returns the number of the journal's last change.
    pub lock: Statement,
    /// Writes the row of a replica: id, address, last change of its list. Returns the same.
    pub update: Statement,
    /// COMMIT.
    pub commit: Statement,
}

impl HeartbeatStatements {
    /// Prepares them on the heartbeat's connection.
    pub async fn prepare(client: &Client) -> Result<HeartbeatStatements, Error> {
        let lock = "SELECT (SELECT max(version) FROM changes)
                    FROM replicas WHERE id = $1 FOR NO KEY UPDATE";
        let update = "UPDATE replicas SET heard_at = now(), address = $2, list_version = $3
                      WHERE id = $1 RETURNING (SELECT max(version) FROM changes)";
        Ok(HeartbeatStatements {
            begin: client.prepare("BEGIN").await?,
            lock: client.prepare(lock).await?,
            update: client.prepare(update).await?,
            commit: client.prepare("COMMIT").await?,
        })
    }
}

/// The first column of [`KeyStatements`] with a row of [`KeyChange`](crate::store::KeyChange), after
/// those of [`answer_of`](super::super::journal::answer_of).
pub const KEY_COLUMNS: usize = 5;

/// Statements for keys. Each has one snapshot of the store's last change, and of accounts and keys;
/// `$1` and `$2` are the number and id of the last change that was seen.
pub struct KeyStatements {
    /// No accounts and keys.
    pub last_change: Statement,
    /// What changed after the change of this number.
    pub changed: Statement,
    /// The keys of these digests.
    pub look_up: Statement,
}

impl KeyStatements {
    /// Prepares them on the connection for freshness.
    pub async fn prepare(client: &Client) -> Result<KeyStatements, Error> {
        let changed = select_changed_keys("changed_in", "CAST($3 AS bigint)");
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
