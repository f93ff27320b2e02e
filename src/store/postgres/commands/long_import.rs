//! A long import between its two commits: its rows are stored, and not a change yet. Their version
//! is beyond the journal's last one, so they are in no list. Servers read them ahead, and then
//! the row in the journal shows all of them at once.
//!
//! Its command holds two locks meanwhile. What a command leaves that was killed is completed, by
//! the next import or by a server.

use crate::store::StoreError;
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{read, written};
use crate::store::postgres::schema::IMPORT_LOCK;
use std::time::Duration;
use tokio::time::sleep;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, GenericClient};

/// Held by an import that waits for servers, and by each while it reads: "stor", 3.
pub const READ_AHEAD_LOCK: i64 = 0x7374_6f72_0000_0003;

/// How many rows there are between two rests, and how long these are for a command, and for each of
/// the servers, which read at the same time. Without rests, requests wait up to five times as long
/// for the processor and the disk.
const ROWS_AT_ONCE: usize = 200;
const COMMAND_RESTS: Duration = Duration::from_millis(2);
const SERVER_RESTS: Duration = Duration::from_millis(5);

/// How fast millions of rows are written or read.
pub struct Pace {
    rest: Duration,
    rows: usize,
}

impl Pace {
    /// A command's that lets requests come first: 60,000 rows a second remain.
    pub const fn of_command() -> Pace {
        Pace { rest: COMMAND_RESTS, rows: 0 }
    }

    /// A server's, likewise: 30,000 rows a second remain.
    pub const fn of_server() -> Pace {
        Pace { rest: SERVER_RESTS, rows: 0 }
    }

    /// As fast as can be.
    pub const fn unlimited() -> Pace {
        Pace { rest: Duration::ZERO, rows: 0 }
    }

    /// Rests after these rows, if it is time to.
    pub async fn after(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= ROWS_AT_ONCE {
            self.rows = 0;
            if !self.rest.is_zero() {
                sleep(self.rest).await;
            }
        }
    }
}

/// What commands do at the moment.
#[derive(Clone, Copy, Debug)]
pub struct Importing {
    /// There is an import.
    pub is_under_way: bool,
    /// It is stored, and waits until servers have read it.
    pub waits: bool,
}

impl Importing {
    /// Asks what locks are held.
    pub async fn ask(client: &impl GenericClient) -> Result<Importing, StoreError> {
        let query = "
            WITH held AS (
                SELECT (classid::bigint << 32) | objid::bigint AS lock FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (
                    SELECT oid FROM pg_database WHERE datname = current_database()))
            SELECT EXISTS (SELECT FROM held WHERE lock = $1),
                   EXISTS (SELECT FROM held WHERE lock = $2)";
        let locks: [(&(dyn ToSql + Sync), Type); 2] =
            [(&IMPORT_LOCK, Type::INT8), (&READ_AHEAD_LOCK, Type::INT8)];
        let rows = client.query_typed(query, &locks).await.map_err(read)?;
        let held = |column| rows.first().map_or(Ok(false), |row| value(row, column));
        let is_under_way = held(0)?;
        Ok(Importing { is_under_way, waits: is_under_way && held(1)? })
    }
}

/// The version of what is stored and not a change yet. While an import writes, and after one that
/// was rolled back, this takes long.
pub async fn stored(client: &Client) -> Result<Option<i64>, StoreError> {
    let query = "SELECT changed_in FROM (SELECT changed_in FROM orders
                                         ORDER BY changed_in DESC LIMIT 1) AS highest
                 WHERE changed_in > (SELECT max(version) FROM changes)";
    let rows = client.query_typed(query, &[]).await.map_err(read)?;
    rows.first().map(|row| value(row, 0)).transpose()
}

/// [`stored`], if its command waits, which it does until this connection ends.
pub async fn stored_and_awaited(client: &Client) -> Result<Option<i64>, StoreError> {
    let lock = format!("SELECT pg_try_advisory_lock_shared({READ_AHEAD_LOCK})");
    let is_awaited = client.query_one(&lock, &[]).await.map_err(read)?;
    if value(&is_awaited, 0)? { stored(client).await } else { Ok(None) }
}

/// Makes a change of what a command left that was killed.
pub async fn complete_stored(client: &Client) -> Result<(), StoreError> {
    let Some(version) = stored(client).await? else { return Ok(()) };
    // The last change is read under the lock. An import that begins holds the other one.
    let complete = format!(
        "BEGIN; SELECT FROM versions FOR NO KEY UPDATE;
         INSERT INTO changes (version, orders, keys)
         SELECT {version}, {version}, keys
         FROM (SELECT version, keys FROM changes ORDER BY version DESC LIMIT 1) AS last
         WHERE version < {version} AND pg_try_advisory_xact_lock({IMPORT_LOCK}); COMMIT"
    );
    client.batch_execute(&complete).await.map_err(written)
}
