//! The servers that use the store, for `status`.

use super::PostgresCommands;
use super::columns::value;
use super::error::read;
use crate::store::StoreError;
use std::time::Duration;
use tokio_postgres::Row;

/// A server that was heard since may still use the store: each is heard every 10 s.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

/// A server that uses the store, or did until a while ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaRow {
    /// Names it from its start to its end.
    pub id: String,
    /// The version of its program.
    pub program: String,
    /// Where it listens; empty until it does.
    pub address: String,
    /// The version of the orders that its list reflects.
    pub list_version: i64,
    /// When it started, RFC 3339 in UTC.
    pub started_at: String,
    /// How long ago it last wrote its row, by the database's clock. A server writes it every
    /// few seconds.
    pub heard_ago: Duration,
}

impl PostgresCommands {
    /// The servers that use the store, the one that was heard last first.
    pub fn replicas(&self) -> Result<Vec<ReplicaRow>, StoreError> {
        let query = "
            SELECT id, program, address, list_version,
                   to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                   (extract(epoch FROM clock_timestamp() - heard_at) * 1000)::bigint
            FROM replicas ORDER BY heard_at DESC, id";
        let rows = self.ask(async |client| client.query(query, &[]).await.map_err(read))?;
        rows.iter().map(replica).collect()
    }

    /// Refuses a store that a server may use.
    pub(super) fn require_unserved(&self) -> Result<(), StoreError> {
        let heard = self.replicas()?;
        match heard.iter().find(|replica| replica.heard_ago < HEARD_WITHIN) {
            None => Ok(()),
            Some(replica) => Err(StoreError::Refused(format!(
                "the server {} ({}) uses the database; stop all servers, and try again {} s after \
                 the last one ended",
                replica.id,
                replica.address,
                HEARD_WITHIN.as_secs()
            ))),
        }
    }

    /// The version that the last change gave to its orders.
    pub fn orders_version(&self) -> Result<i64, StoreError> {
        let query = "SELECT coalesce(max(version), 0) FROM orders";
        value(&self.ask(async |client| client.query_one(query, &[]).await.map_err(read))?, 0)
    }
}

fn replica(row: &Row) -> Result<ReplicaRow, StoreError> {
    let heard_ago_ms: i64 = value(row, 5)?;
    Ok(ReplicaRow {
        id: value(row, 0)?,
        program: value(row, 1)?,
        address: value(row, 2)?,
        list_version: value(row, 3)?,
        started_at: value(row, 4)?,
        heard_ago: Duration::from_millis(u64::try_from(heard_ago_ms).unwrap_or(0)),
    })
}
