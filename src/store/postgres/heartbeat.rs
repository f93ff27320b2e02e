//! The heartbeat: a commit four times a second, which a primary with a synchronous standby
//! can confirm only while it is the primary. It locks the replica's own row, which writes to
//! the log; never `versions`, or an import would make every list an error.

use super::error::{read, unreachable_because, written};
use super::journal::remove_old;
use super::replica::Replica;
use super::schema::{STORE, require_current};
use super::session::{READ_LIMIT, Session};
use super::statements::HeartbeatStatements;
use crate::store::StoreError;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};
use tokio_postgres::types::ToSql;

/// How often a heartbeat is sent.
const INTERVAL: Duration = Duration::from_millis(250);

/// How many heartbeats pass between two looks at the schema: a second.
const SCHEMA_EVERY: u32 = 4;

/// How many pass between two updates of the replica's row, each of which leaves a dead row:
/// 10 s.
const ROW_EVERY: u32 = 40;

/// Commits a write that changes nothing, and has the session count for a second more.
pub async fn beat(session: &Session, replica: &Replica) -> Result<(), StoreError> {
    let sent = Instant::now();
    let (client, link) = (&session.background.client, &session.background.link);
    let HeartbeatStatements { begin, lock, commit } = &session.heartbeat;
    let id: &(dyn ToSql + Sync) = &replica.id();
    let (of_replica, warnings) = ([id], link.warnings());
    let (begun, locked, committed) = tokio::join!(
        client.execute(begin, &[]),
        client.query(lock, &of_replica),
        client.execute(commit, &[]),
    );
    begun.map_err(written)?;
    let locked = locked.map_err(written)?;
    committed.map_err(written)?;
    if locked.is_empty() {
        return Err(unreachable_because("this replica's row was removed"));
    }
    link.require_no_warning_since(warnings)?;
    session.confirm(sent);
    Ok(())
}

/// Adds the replica's row, and removes those of replicas that ended long ago.
pub async fn register(session: &Session, replica: &Replica) -> Result<(), StoreError> {
    let client = &session.background.client;
    let (address, list_version) = replica.shown();
    let insert = "INSERT INTO replicas (id, program, address, list_version) VALUES ($1, $2, $3, $4)
                  ON CONFLICT (id) DO UPDATE SET heard_at = now()";
    let program = env!("CARGO_PKG_VERSION");
    client
        .execute(insert, &[&replica.id(), &program, &address, &list_version])
        .await
        .map_err(written)?;
    let remove = "DELETE FROM replicas WHERE id IN
                    (SELECT id FROM replicas WHERE heard_at < now() - interval '1 day'
                     FOR UPDATE SKIP LOCKED)";
    client.execute(remove, &[]).await.map_err(written)?;
    Ok(())
}

/// Removes the replica's row.
pub async fn deregister(session: &Session, replica: &Replica) -> Result<(), StoreError> {
    let client = &session.background.client;
    let remove = "DELETE FROM replicas WHERE id = $1";
    client.execute(remove, &[&replica.id()]).await.map_err(written).map(drop)
}

/// Sends heartbeats until the session or the server ends.
pub async fn keep_beating(session: Arc<Session>, replica: Arc<Replica>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0_u32.. {
        ticks.tick().await;
        if replica.has_left() {
            return;
        }
        // A late answer ends the session, and with it this loop.
        let beaten = session.answer(READ_LIMIT, beat(&session, &replica)).await;
        if session.require_open().is_err() {
            return;
        }
        if beaten.is_ok() && number % SCHEMA_EVERY == 0 {
            let looked = require_current(&session.background.client, STORE).await;
            session.set_outdated(match looked {
                Err(StoreError::Refused(why)) => Some(why),
                _ => None,
            });
            // A failure is of no consequence: the next look removes them.
            let _ = remove_old(&session.background.client).await;
        }
        if beaten.is_ok() && number % ROW_EVERY == 2 {
            // A failure is of no consequence: the row is only shown.
            let _ = update_row(&session, &replica).await;
        }
    }
}

async fn update_row(session: &Session, replica: &Replica) -> Result<(), StoreError> {
    let (address, list_version) = replica.shown();
    let update = "UPDATE replicas SET heard_at = now(), address = $2, list_version = $3
                  WHERE id = $1";
    let client = &session.background.client;
    client.execute(update, &[&replica.id(), &address, &list_version]).await.map_err(read)?;
    Ok(())
}
