//! The heartbeat: a commit four times a second. A primary with a synchronous standby can confirm a
//! commit only until it is replaced, so a confirmed heartbeat proves that the primary had not been
//! replaced when the heartbeat was sent. The heartbeat locks the replica's own row, which is enough
//! to write to the WAL. It does not take the change lock, because it would wait for this lock
//! during an import, and every list would fail.

use super::Session;
use super::prepared::HeartbeatStatements;
use super::replica::Replica;
use crate::clock::BootInstant;
use crate::store::StoreError;
use crate::store::agreement::lease::Confirmed;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{unreachable_because, write_error};
use crate::store::postgres::heartbeats::remove_silent;
use crate::store::postgres::journal::remove_old;
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::{SERVERS_LOCK, STORE, require_current};
use crate::store::postgres::timeouts::{HEARTBEAT_INTERVAL, MAINTENANCE_LIMIT, READ_LIMIT};
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

/// The pause between two rounds of [`tidy`].
const TIDY_INTERVAL: Duration = Duration::from_secs(1);

/// The number of heartbeats between two updates of the replica's row. At 4 heartbeats a second this
/// is 10 s. The heartbeats in between only lock the row, because each update leaves a dead row.
const BEATS_PER_ROW_UPDATE: u32 = 40;

/// Commits a heartbeat, which renews the session's lease and confirms the changes that the
/// heartbeat can see. Only locks the replica's row, unless `writes_row` is set.
pub async fn beat(
    session: &Session,
    replica: &Replica,
    writes_row: bool,
) -> Result<Confirmed, StoreError> {
    let sent = BootInstant::now();
    let Connection { client, link, .. } = &session.heartbeat;
    let HeartbeatStatements { begin, lock, update, commit } = &session.heartbeat_statements;
    let (address, listed) = replica.row_values();
    let row: [&(dyn ToSql + Sync); 3] = [&replica.id(), &address, &listed];
    let (write, parameters) = if writes_row { (update, &row[..]) } else { (lock, &row[..1]) };
    let unconfirmed = link.unconfirmed();
    let (begun, written_row, committed) = tokio::join!(
        client.execute(begin, &[]),
        client.query(write, parameters),
        client.execute(commit, &[]),
    );
    begun.map_err(write_error)?;
    let written_row = written_row.map_err(write_error)?;
    committed.map_err(write_error)?;
    let Some(row) = written_row.first() else {
        // This error ends the session; the next session adds the row again.
        return Err(unreachable_because("this replica's row was removed"));
    };
    link.require_confirmed_since(unconfirmed)?;
    session.set_confirmed(value::<Option<i64>>(row, 0)?.unwrap_or_default());
    Ok(session.renew_lease(sent))
}

/// Adds the replica's row. Fails while a command keeps servers away. If such a command begins
/// later, it finds the row and refuses to run. So data read from now on stays valid while the row
/// exists.
pub async fn register(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let (address, listed) = replica.row_values();
    let insert = "INSERT INTO replicas (id, program, address, list_change_number)
                  SELECT $1, $2, $3, $4 WHERE pg_try_advisory_xact_lock_shared($5)
                  ON CONFLICT (id) DO UPDATE SET heard_at = now()";
    let program = env!("CARGO_PKG_VERSION");
    let row: [&(dyn ToSql + Sync); 5] = [&replica.id(), &program, &address, &listed, &SERVERS_LOCK];
    match client.execute(insert, &row).await.map_err(write_error)? {
        0 => Err(unreachable_because(
            "`store-orders restore`, or `migrate --new-store-id`, uses it; start the server when \
             that has ended",
        )),
        _ => Ok(()),
    }
}

/// Removes the replica's row. Waits if a heartbeat has locked it.
pub async fn deregister(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let remove = "DELETE FROM replicas WHERE id = $1";
    client.execute(remove, &[&replica.id()]).await.map_err(write_error).map(drop)
}

/// Sends heartbeats until the session or the server ends: at a fixed interval, and at once if a
/// request waits for one.
pub async fn keep_beating(session: &Session, replica: &Replica) {
    let mut ticks = interval(HEARTBEAT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0_u32.. {
        tokio::select! {
            _ = ticks.tick() => {}
            () = session.heartbeat_wanted.notified() => {}
        }
        if replica.has_left() {
            return;
        }
        // A late answer ends the session, and so this loop. Other errors are ignored, because the
        // lease expires if they persist.
        let beat = beat(session, replica, number % BEATS_PER_ROW_UPDATE == 2);
        let _ = session.answer(READ_LIMIT, beat).await;
        if session.ending.require_open().is_err() {
            return;
        }
    }
}

/// Checks the schema version, and removes old rows of the journal and the rows of servers that were
/// silent for `silent_for`, until the session ends.
pub async fn tidy(session: &Session, silent_for: Duration) {
    let client = &session.maintenance.client;
    let (mut floor, mut last_heartbeats, mut checked_at) = (0, Vec::new(), None::<Instant>);
    loop {
        let check = session.answer(MAINTENANCE_LIMIT, require_current(client, STORE)).await;
        if session.ending.require_open().is_err() {
            return;
        }
        session.set_outdated(match check {
            Err(StoreError::Refused(why) | StoreError::Unusable(why)) => Some(why),
            _ => None,
        });
        // Ignore errors, because the next round removes the rows.
        if let Ok(removed) = session.answer(MAINTENANCE_LIMIT, remove_old(client, floor)).await {
            floor = removed;
            if checked_at.is_none_or(|time| time.elapsed() >= silent_for)
                && let removing = remove_silent(client, &last_heartbeats)
                && let Ok(heartbeats) = session.answer(MAINTENANCE_LIMIT, removing).await
            {
                (last_heartbeats, checked_at) = (heartbeats, Some(Instant::now()));
            }
        }
        tokio::select! {
            () = sleep(TIDY_INTERVAL) => {}
            _ = session.ending.ended() => return,
        }
    }
}
