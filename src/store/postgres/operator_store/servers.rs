//! Lets commands list the servers that use the store, and wait for the heartbeats of these servers.

use super::PostgresOperatorStore;
use crate::store::StoreError;
use crate::store::agreement::lease::LEASE;
use crate::store::postgres::error::read_error;
use crate::store::postgres::heartbeats::{heartbeats, seen_and_silent, silent_since};
use crate::store::postgres::journal;
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::HEARTBEAT_POLL_INTERVAL;
use serde::Serialize;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_postgres::{Client, Row};

/// A server that uses the store, or did until recently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRow {
    pub id: String,
    pub program: String,
    /// The address on which the server listens; empty until the server listens.
    pub address: String,
    /// The change number of orders that the server's list had reached when the server last wrote
    /// its row.
    pub list_change_number: i64,
    /// The time at which the server added its row, in RFC 3339 and UTC. Usually the server's start,
    /// but a server whose row was removed adds a new row later.
    pub started_at: String,
    /// The time since the server last wrote its row, by the database's clock. A server writes its
    /// row about every 10 seconds, or sooner if its address or list has changed.
    pub heard_seconds_ago: i64,
}

impl PostgresOperatorStore {
    /// Returns the servers that have a row in `replicas`. The server whose row was updated last
    /// comes first. A live server updates its row every 1 to 10 seconds, not with every heartbeat.
    pub fn replicas(&self) -> Result<Vec<ReplicaRow>, StoreError> {
        let query = "
            SELECT id, program, address, list_change_number,
                   to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                   greatest(0, floor(extract(epoch FROM clock_timestamp() - heard_at)))::bigint
            FROM replicas ORDER BY heard_at DESC, id";
        let rows = self.run(async |client| client.query(query, &[]).await.map_err(read_error))?;
        rows.iter().map(replica).collect()
    }

    /// Waits until every server has sent a new heartbeat to this primary, but at most for the
    /// duration of a lease. Afterwards, no server has a valid lease on a replaced primary. So lists
    /// and key lookups include everything that was committed on this primary before the call.
    pub(super) fn await_heartbeats(&self) {
        let until = Instant::now() + LEASE;
        let connection = self.connection.lock();
        self.runtime.block_on(async {
            let all_beat = timeout_at(until, all_have_beaten(&connection.client)).await;
            // After an error, such as a lost connection, wait until a whole lease has passed since
            // the call began. By then, every lease on a replaced primary has expired.
            if !matches!(all_beat, Ok(Ok(()))) {
                sleep_until(until).await;
            }
        });
    }

    /// Returns the ids of the servers that have a row in `replicas` but send no heartbeat during
    /// this call. If there is such a server, the call takes the whole `HEARTBEAT_TIMEOUT`.
    pub fn silent_replicas(&self) -> Result<Vec<String>, StoreError> {
        self.run(async |client| Ok(seen_and_silent(client).await?.1))
    }

    pub fn orders_change_number(&self) -> Result<i64, StoreError> {
        Ok(self.run(async |client| journal::read_last(client).await)?.1.orders.number)
    }
}

async fn all_have_beaten(client: &Client) -> Result<(), StoreError> {
    let first = heartbeats(client).await?;
    while !silent_since(client, &first).await?.is_empty() {
        sleep(HEARTBEAT_POLL_INTERVAL).await;
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
