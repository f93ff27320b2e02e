//! The heartbeats of servers, as others see them. Each locks the server's row, which shows in
//! `xmax`; every few seconds it writes the row, which shows in `xmin`. The database's clock, which
//! a failover may move, has no part in it.

use super::error::{read, waited, written};
use super::rows::value;
use super::schema::SERVERS_LOCK;
use crate::store::StoreError;
use crate::store::postgres::timeouts::{HEARD_WITHIN, LOOK_INTERVAL};
use tokio::time::{Instant, sleep};
use tokio_postgres::{GenericClient, Transaction};

/// Identifies a heartbeat.
const HEARTBEAT: &str = "id || ' ' || xmin::text || ' ' || xmax::text";

/// The last heartbeat of each server that has a row.
pub async fn heartbeats(client: &impl GenericClient) -> Result<Vec<String>, StoreError> {
    let query = format!("SELECT {HEARTBEAT} FROM replicas");
    let rows = client.query(&query, &[]).await.map_err(read)?;
    rows.iter().map(|row| value(row, 0)).collect()
}

/// The ids of the servers of which these are still the last heartbeats.
pub async fn silent_since(
    client: &impl GenericClient,
    seen: &[String],
) -> Result<Vec<String>, StoreError> {
    let query = format!("SELECT id FROM replicas WHERE {HEARTBEAT} = ANY($1)");
    let rows = client.query(&query, &[&seen]).await.map_err(read)?;
    rows.iter().map(|row| value(row, 0)).collect()
}

/// Removes the rows of the servers of which these are still the last heartbeats, and returns the
/// last ones of the others. The next heartbeat of one that runs finds no row: its session ends,
/// and the next one adds it again.
pub async fn remove_silent(
    client: &impl GenericClient,
    seen: &[String],
) -> Result<Vec<String>, StoreError> {
    let remove = format!(
        "DELETE FROM replicas WHERE id IN
            (SELECT id FROM replicas WHERE {HEARTBEAT} = ANY($1) FOR UPDATE SKIP LOCKED)"
    );
    client.execute(&remove, &[&seen]).await.map_err(written)?;
    heartbeats(client).await
}

/// The heartbeats that were seen first, and the ids of the servers that sent no later one: they
/// were killed or suspended, or cannot reach the database. Waits for no longer than it takes to
/// know.
pub async fn seen_and_silent(
    client: &impl GenericClient,
) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let (seen, until) = (heartbeats(client).await?, Instant::now() + HEARD_WITHIN);
    loop {
        let silent = silent_since(client, &seen).await?;
        if silent.is_empty() || Instant::now() >= until {
            return Ok((seen, silent));
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// Refuses a store that a server uses. Removes the rows of silent servers: one that was suspended
/// then has to open another session, which reads what was changed meanwhile.
pub async fn require_unserved(client: &impl GenericClient) -> Result<(), StoreError> {
    let (seen, _) = seen_and_silent(client).await?;
    remove_silent(client, &seen).await?;
    let query = "SELECT id, address FROM replicas LIMIT 1";
    let Some(row) = client.query_opt(query, &[]).await.map_err(read)? else { return Ok(()) };
    let (id, address): (String, String) = (value(&row, 0)?, value(&row, 1)?);
    Err(StoreError::Refused(format!(
        "the server {id} ({address}) uses the database; stop all servers, and try again"
    )))
}

/// Refuses a store that a server uses, and has servers refuse it until the transaction ends.
pub async fn keep_servers_away(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&SERVERS_LOCK]).await.map_err(waited)?;
    require_unserved(transaction).await
}
