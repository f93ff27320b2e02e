//! The heartbeat: a commit four times a second, which a primary with a synchronous standby
//! can confirm only while it is the primary. It locks the replica's own row, which writes to
//! the log; never that of changes, or an import would make every list an error.

use super::Session;
use super::prepared::HeartbeatStatements;
use super::replica::Replica;
use crate::clock::BootInstant;
use crate::store::StoreError;
use crate::store::agreement::lease::Confirmed;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{unreachable_because, written};
use crate::store::postgres::heartbeats::remove_silent;
use crate::store::postgres::journal::remove_old;
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::{SERVERS_LOCK, STORE, require_current};
use crate::store::postgres::timeouts::{HEARTBEAT_INTERVAL, READ_LIMIT};
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

/// How often the schema is looked at and the journal tidied, and how long that waits for the
/// reader.
const TIDY_INTERVAL: Duration = Duration::from_secs(1);

/// How many heartbeats pass between two updates of the replica's row, each of which leaves a dead
/// row: 10 s, unless requests wait for heartbeats.
const ROW_EVERY: u32 = 40;

/// Commits a write, and renews the session's lease; the changes that it saw are confirmed with it.
/// It changes nothing, unless the replica's row is due.
pub async fn beat(
    session: &Session,
    replica: &Replica,
    writes_row: bool,
) -> Result<Confirmed, StoreError> {
    let sent = BootInstant::now();
    let Connection { client, link, .. } = &session.heartbeat;
    let HeartbeatStatements { begin, lock, update, commit } = &session.beat;
    let (address, listed) = replica.shown();
    let row: [&(dyn ToSql + Sync); 3] = [&replica.id(), &address, &listed];
    let (write, parameters) = if writes_row { (update, &row[..]) } else { (lock, &row[..1]) };
    let unconfirmed = link.unconfirmed();
    let (begun, written_row, committed) = tokio::join!(
        client.execute(begin, &[]),
        client.query(write, parameters),
        client.execute(commit, &[]),
    );
    begun.map_err(written)?;
    let written_row = written_row.map_err(written)?;
    committed.map_err(written)?;
    let Some(row) = written_row.first() else {
        // It ends the session; the next one adds the row again.
        return Err(unreachable_because("this replica's row was removed"));
    };
    link.require_confirmed_since(unconfirmed)?;
    session.set_confirmed(value::<Option<i64>>(row, 0)?.unwrap_or_default());
    Ok(session.renew_lease(sent))
}

/// Adds the replica's row, unless a command keeps servers away. A command that begins later finds
/// it: what is read of the store from here on stays true while the row is there.
pub async fn register(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let (address, listed) = replica.shown();
    let insert = "INSERT INTO replicas (id, program, address, list_version)
                  SELECT $1, $2, $3, $4 WHERE pg_try_advisory_xact_lock_shared($5)
                  ON CONFLICT (id) DO UPDATE SET heard_at = now()";
    let program = env!("CARGO_PKG_VERSION");
    let row: [&(dyn ToSql + Sync); 5] = [&replica.id(), &program, &address, &listed, &SERVERS_LOCK];
    match client.execute(insert, &row).await.map_err(written)? {
        0 => Err(unreachable_because(
            "`store-orders restore`, or `migrate --new-store-id`, uses it; start the server when \
             that has ended",
        )),
        _ => Ok(()),
    }
}

/// Removes the replica's row, which a heartbeat may hold at the moment.
pub async fn deregister(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let remove = "DELETE FROM replicas WHERE id = $1";
    client.execute(remove, &[&replica.id()]).await.map_err(written).map(drop)
}

/// Sends heartbeats until the session or the server ends, sooner if a request waits for one.
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
        // A late answer ends the session, and with it this loop. Any other error is one of the
        // lease, if it lasts.
        let beat = beat(session, replica, number % ROW_EVERY == 2);
        let _ = session.answer(READ_LIMIT, beat).await;
        if session.ending.require_open().is_err() {
            return;
        }
    }
}

/// Looks at the schema, and removes old rows of the journal and those of servers that were silent
/// for this long, until the session ends.
pub async fn tidy(session: &Session, silent_for: Duration) {
    let (mut floor, mut seen, mut seen_at) = (0, Vec::new(), None::<Instant>);
    loop {
        let looked = require_current(&session.freshness.client, STORE);
        let looked = session.answer(READ_LIMIT, looked).await;
        if session.ending.require_open().is_err() {
            return;
        }
        session.set_outdated(match looked {
            Err(StoreError::Refused(why) | StoreError::Unusable(why)) => Some(why),
            _ => None,
        });
        // A failure is of no consequence: the next look removes them.
        if let Ok(_reading) = timeout(TIDY_INTERVAL, session.reading.write()).await
            && let removing = remove_old(&session.reader.client, floor)
            && let Ok(removed) = session.answer(READ_LIMIT, removing).await
        {
            floor = removed;
            if seen_at.is_none_or(|at| at.elapsed() >= silent_for)
                && let removing = remove_silent(&session.reader.client, &seen)
                && let Ok(last) = session.answer(READ_LIMIT, removing).await
            {
                (seen, seen_at) = (last, Some(Instant::now()));
            }
        }
        tokio::select! {
            () = sleep(TIDY_INTERVAL) => {}
            _ = session.ending.ended() => return,
        }
    }
}
