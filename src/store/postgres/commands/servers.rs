//! The servers that use the store, as commands see them.

use super::PostgresCommands;
use crate::store::StoreError;
use crate::store::agreement::lease::LEASE;
use crate::store::postgres::error::read;
use crate::store::postgres::heartbeats::{heartbeats, seen_and_silent, silent_since};
use crate::store::postgres::journal;
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::LOOK_INTERVAL;
use serde::Serialize;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_postgres::{Client, Row};

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
    /// The last change of orders that its list reflects.
    #[serde(rename = "listVersion")]
    pub list_change_number: i64,
    /// When it added its row, RFC 3339 in UTC: at its start, or after it was silent for minutes.
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
        let until = Instant::now() + LEASE;
        let connection = self.connection.lock();
        self.runtime.block_on(async {
            let all_beat = timeout_at(until, all_have_beaten(&connection.client)).await;
            // Lost with the connection, it may be: the time is enough without it.
            if !matches!(all_beat, Ok(Ok(()))) {
                sleep_until(until).await;
            }
        });
    }

    /// The ids of the servers that have a row and send no heartbeat. Takes seconds if there are any.
    pub fn silent_replicas(&self) -> Result<Vec<String>, StoreError> {
        self.ask(async |client| Ok(seen_and_silent(client).await?.1))
    }

    /// The number of the last change of orders.
    pub fn orders_change_number(&self) -> Result<i64, StoreError> {
        Ok(self.ask(async |client| journal::last(client).await)?.1.orders)
    }
}

/// Waits for a heartbeat of each server that has a row.
async fn all_have_beaten(client: &Client) -> Result<(), StoreError> {
    let awaited = heartbeats(client).await?;
    while !silent_since(client, &awaited).await?.is_empty() {
        sleep(LOOK_INTERVAL).await;
    }
    Ok(())
}

fn replica(row: &Row) -> Result<ReplicaRow, StoreError> {
    Ok(ReplicaRow {
        id: value(row, 0)?,
        program: value(row, 1)?,
        address: value(row, 2)?,
        list_change_number: value(row, 3)?,
        started_at: value(row, 4)?,
        heard_seconds_ago: value(row, 5)?,
    })
}
