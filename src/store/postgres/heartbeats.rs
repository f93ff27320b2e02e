//! Finds running and silent servers by their heartbeats. Each heartbeat changes `xmax` or `xmin` of
//! the server's row in `replicas`. Timestamps would be unreliable, because a new primary's clock
//! may differ.

use super::error::{lock_error, read_error, write_error};
use super::rows::value;
use super::schema::SERVERS_LOCK;
use crate::store::StoreError;
use crate::store::postgres::timeouts::{HEARTBEAT_POLL_INTERVAL, HEARTBEAT_TIMEOUT};
use tokio::time::{Instant, sleep};
use tokio_postgres::{GenericClient, Transaction};

/// A SQL expression whose value changes with each heartbeat of a server.
const HEARTBEAT: &str = "id || ' ' || xmin::text || ' ' || xmax::text";

pub async fn heartbeats(client: &impl GenericClient) -> Result<Vec<String>, StoreError> {
    let query = format!("SELECT {HEARTBEAT} FROM replicas");
    let rows = client.query(&query, &[]).await.map_err(read_error)?;
    rows.iter().map(|row| value(row, 0)).collect()
}

/// Returns the ids of the servers that have sent no heartbeat since `last_seen` was read.
pub async fn silent_since(
    client: &impl GenericClient,
    last_seen: &[String],
) -> Result<Vec<String>, StoreError> {
    let query = format!("SELECT id FROM replicas WHERE {HEARTBEAT} = ANY($1)");
    let rows = client.query(&query, &[&last_seen]).await.map_err(read_error)?;
    rows.iter().map(|row| value(row, 0)).collect()
}

/// Removes the rows of the servers without a heartbeat since `last_seen` was read. Returns the last
/// heartbeats of the other servers.
///
/// If a removed server still runs, the server's next heartbeat ends the session. The server's next
/// session adds the row again.
pub async fn remove_silent(
    client: &impl GenericClient,
    last_seen: &[String],
) -> Result<Vec<String>, StoreError> {
    let remove = format!(
        "DELETE FROM replicas WHERE id IN
            (SELECT id FROM replicas WHERE {HEARTBEAT} = ANY($1) FOR UPDATE SKIP LOCKED)"
    );
    client.execute(&remove, &[&last_seen]).await.map_err(write_error)?;
    heartbeats(client).await
}

/// Waits until each server has sent a new heartbeat, but at most for [`HEARTBEAT_TIMEOUT`]. Returns
/// the heartbeats from before the wait, and the ids of the servers without a new one.
pub async fn seen_and_silent(
    client: &impl GenericClient,
) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let (first, until) = (heartbeats(client).await?, Instant::now() + HEARTBEAT_TIMEOUT);
    loop {
        let silent = silent_since(client, &first).await?;
        if silent.is_empty() || Instant::now() >= until {
            return Ok((first, silent));
        }
        sleep(HEARTBEAT_POLL_INTERVAL).await;
    }
}

/// Waits for heartbeats, and removes the rows of servers that send none. Fails if any server still
/// has a row.
///
/// The removal is safe even if a removed server still runs. Its next heartbeat ends its session,
/// and its next session reads the changes that it has missed.
pub async fn require_unserved(client: &impl GenericClient) -> Result<(), StoreError> {
    let (first, _) = seen_and_silent(client).await?;
    remove_silent(client, &first).await?;
    let query = "SELECT id, address FROM replicas LIMIT 1";
    let Some(row) = client.query_opt(query, &[]).await.map_err(read_error)? else { return Ok(()) };
    let (id, address): (String, String) = (value(&row, 0)?, value(&row, 1)?);
    Err(StoreError::Refused(format!(
        "the server {id} ({address}) uses the database; stop all servers, and try again"
    )))
}

/// Keeps further servers from using the store until the transaction ends. Fails if a server already
/// uses the store.
pub async fn keep_servers_away(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SERVERS_LOCK]).await.map_err(lock_error)?;
    require_unserved(transaction).await
}
