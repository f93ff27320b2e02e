//! The servers that use the store, as commands see them.

use super::PostgresCommands;
use crate::store::StoreError;
use crate::store::postgres::columns::value;
use crate::store::postgres::error::read;
use crate::store::postgres::journal;
use crate::store::timeouts::{CONFIRMED_FOR, HEARD_WITHIN};
use serde::Serialize;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_postgres::{Client, Row};

/// How often a command looks for heartbeats: there are four a second.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// A server that uses the store, or did until a while ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    pub heard_seconds_ago: i64,
}

impl PostgresCommands {
    /// The servers that use the store, the one that was heard last first.
    pub fn replicas(&self) -> Result<Vec<ReplicaRow>, StoreError> {
        let query = "
            SELECT id, program, address, list_version,
                   to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                   greatest(0, floor(extract(epoch FROM clock_timestamp() - heard_at)))::bigint
            FROM replicas ORDER BY heard_at DESC, id";
        let rows = self.ask(async |client| client.query(query, &[]).await.map_err(read))?;
        rows.iter().map(replica).collect()
    }

    /// Waits until every server has sent this primary a heartbeat, or cannot count any more on
    /// one that it replaced: a second at most. Whatever was committed here before, they know.
    pub(super) fn await_heartbeats(&self) {
        let until = Instant::now() + CONFIRMED_FOR;
        let connection = self.connection.lock();
        self.runtime.block_on(async {
            let all_beat = timeout_at(until, all_have_beaten(&connection.client)).await;
            // Lost with the connection, it may be: the time is enough without it.
            if !matches!(all_beat, Ok(Ok(()))) {
                sleep_until(until).await;
            }
        });
    }

    /// Refuses a store that a server uses. A server that was killed left its row: whether it
    /// still runs shows in its heartbeats alone, not in the database's clock, which a failover
    /// may move.
    pub(super) fn require_unserved(&self) -> Result<(), StoreError> {
        let heard = self.ask(async |client| {
            let before = heartbeats(client).await?;
            let until = Instant::now() + HEARD_WITHIN;
            while !before.is_empty() && Instant::now() < until {
                sleep(LOOKS_EVERY).await;
                let query = "SELECT id, address FROM replicas
                             WHERE id || ' ' || xmax::text <> ALL($1) LIMIT 1";
                if let Some(row) = client.query_opt(query, &[&before]).await.map_err(read)? {
                    return Ok(Some((value::<String>(&row, 0)?, value::<String>(&row, 1)?)));
                }
            }
            Ok(None)
        })?;
        let Some((id, address)) = heard else { return Ok(()) };
        Err(StoreError::Refused(format!(
            "the server {id} ({address}) uses the database; stop all servers, and try again"
        )))
    }

    /// The version that the last change gave to its orders.
    pub fn orders_version(&self) -> Result<i64, StoreError> {
        Ok(self.ask(async |client| journal::last(client).await)?.versions(0).orders)
    }
}

/// The last heartbeat of each server: it locks the server's row, which shows in `xmax`.
async fn heartbeats(client: &Client) -> Result<Vec<String>, StoreError> {
    let query = "SELECT id || ' ' || xmax::text FROM replicas";
    let rows = client.query(query, &[]).await.map_err(read)?;
    rows.iter().map(|row| value(row, 0)).collect()
}

/// Waits for a heartbeat of each server that has a row.
async fn all_have_beaten(client: &Client) -> Result<(), StoreError> {
    let awaited = heartbeats(client).await?;
    let silent = "SELECT EXISTS (SELECT FROM replicas WHERE id || ' ' || xmax::text = ANY($1))";
    while value(&client.query_one(silent, &[&awaited]).await.map_err(read)?, 0)? {
        sleep(LOOKS_EVERY).await;
    }
    Ok(())
}

fn replica(row: &Row) -> Result<ReplicaRow, StoreError> {
    Ok(ReplicaRow {
        id: value(row, 0)?,
        program: value(row, 1)?,
        address: value(row, 2)?,
        list_version: value(row, 3)?,
        started_at: value(row, 4)?,
        heard_seconds_ago: value(row, 5)?,
    })
}
