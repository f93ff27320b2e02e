//! Sends heartbeats. A heartbeat is a commit that renews the session's
//! [`lease`](crate::store::agreement::lease). A heartbeat locks the replica's row in `replicas`,
//! because this lock writes to the WAL. A commit that writes nothing does not wait for the standby.
//!
//! A heartbeat does not take the change lock, because a long transaction could hold that lock until
//! the lease has expired.

use super::replica::{Replica, RowValues};
use super::state::SessionState;
use crate::clock::BootInstant;
use crate::store::StoreError;
use crate::store::agreement::lease::Confirmed;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{unreachable_because, write_error};
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::SERVERS_LOCK;
use crate::store::postgres::timeouts::{HEARTBEAT_INTERVAL, READ_LIMIT};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

/// The interval at which heartbeats update the replica's row. The heartbeats in between only lock
/// the row, because each update leaves a dead row.
const ROW_INTERVAL: Duration = Duration::from_secs(10);

/// The minimum time between two updates of the replica's row if one of its [`RowValues`] has
/// changed. The time is short, because the command `status` shows these values.
const CHANGED_ROW_INTERVAL: Duration = Duration::from_secs(1);

/// Sends heartbeats on a connection that nothing else uses while the session is open. On a shared
/// connection, other statements could get between a heartbeat's pipelined statements, and delay the
/// heartbeat or make it fail.
pub struct Heartbeat {
    connection: Arc<Connection>,
    begin: Statement,
    /// Locks the row of a replica. Returns the number of the journal's last change.
    lock: Statement,
    /// Updates the row of a replica, and returns the number of the journal's last change.
    /// Parameters: id, address, the last change that the replica's list reflects.
    update: Statement,
    commit: Statement,
    /// The signal to send a heartbeat immediately.
    wanted: Notify,
    state: Arc<SessionState>,
}

impl Heartbeat {
    pub async fn prepare(
        connection: Arc<Connection>,
        state: Arc<SessionState>,
    ) -> Result<Heartbeat, Error> {
        let client = &connection.client;
        let lock = "SELECT (SELECT max(change_number) FROM changes)
                    FROM replicas WHERE id = $1 FOR NO KEY UPDATE";
        let update = "UPDATE replicas SET heard_at = now(), address = $2, list_change_number = $3
                      WHERE id = $1 RETURNING (SELECT max(change_number) FROM changes)";
        Ok(Heartbeat {
            begin: client.prepare("BEGIN").await?,
            lock: client.prepare(lock).await?,
            update: client.prepare(update).await?,
            commit: client.prepare("COMMIT").await?,
            wanted: Notify::new(),
            connection,
            state,
        })
    }

    /// Commits a heartbeat, which renews the lease. The commit also confirms all changes that the
    /// heartbeat's transaction sees. Updates the replica's row with `values`, or only locks the row
    /// if `values` is `None`.
    pub async fn beat(&self, values: Option<&RowValues>) -> Result<Confirmed, StoreError> {
        let sent = BootInstant::now();
        let Heartbeat { connection, begin, lock, update, commit, state, .. } = self;
        let Connection { client, link, .. } = &**connection;
        let id = state.replica.id();
        let (write, parameters): (_, Vec<&(dyn ToSql + Sync)>) = match values {
            Some((address, listed)) => (update, vec![&id, address, listed]),
            None => (lock, vec![&id]),
        };
        let unconfirmed = link.unconfirmed();
        let (begun, written_row, committed) = tokio::join!(
            client.execute(begin, &[]),
            client.query(write, &parameters),
            client.execute(commit, &[]),
        );
        begun.map_err(write_error)?;
        let written_row = written_row.map_err(write_error)?;
        committed.map_err(write_error)?;
        let Some(row) = written_row.first() else {
            // The returned error ends the session, and the next session adds the row again.
            return Err(unreachable_because("this replica's row was removed"));
        };
        link.require_confirmed_since(unconfirmed)?;
        state.set_confirmed(value::<Option<i64>>(row, 0)?.unwrap_or_default());
        Ok(state.renew_lease(sent))
    }

    /// Sends a heartbeat at a fixed interval, and when `confirm_last_seen` requests one. Returns
    /// once the session has ended or this replica has left.
    pub async fn keep_beating(&self) {
        let mut ticks = interval(HEARTBEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut written, mut written_at) = (None, Instant::now());
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.wanted.notified() => {}
            }
            if self.state.replica.has_left() {
                return;
            }
            let values = self.state.replica.row_values();
            let is_changed = written.as_ref() != Some(&values);
            let interval = if is_changed { CHANGED_ROW_INTERVAL } else { ROW_INTERVAL };
            let row = (written_at.elapsed() >= interval).then_some(&values);
            // Ignore an error. If the reply was late, `answer` has ended the session, and the check
            // below returns. After an error that PostgreSQL reports, a later heartbeat can still
            // renew the lease.
            let beat = self.state.answer(READ_LIMIT, self.beat(row)).await;
            if beat.is_ok() && row.is_some() {
                (written, written_at) = (Some(values), Instant::now());
            }
            if self.state.require_open().is_err() {
                return;
            }
        }
    }

    /// Requests an immediate heartbeat if the last seen change is unconfirmed. A caller then need
    /// not wait for the next regular heartbeat.
    pub fn confirm_last_seen(&self) {
        let last_seen = self.state.replica.last_seen();
        if last_seen.last().is_some_and(|change| !self.state.is_confirmed(change.number)) {
            self.wanted.notify_one();
        }
    }
}

/// Adds the replica's row. Fails while a command holds `SERVERS_LOCK` to keep servers away from the
/// store. While the row exists, such a command fails, so the store's id cannot change.
pub async fn register(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let (address, listed) = replica.row_values();
    let insert = "INSERT INTO replicas (id, program, address, list_change_number)
                  SELECT $1, $2, $3, $4 WHERE pg_try_advisory_xact_lock_shared($5)
                  ON CONFLICT (id) DO UPDATE SET heard_at = now()";
    let program = env!("CARGO_PKG_VERSION");
    let row: [&(dyn ToSql + Sync); 5] = [&replica.id(), &program, &address, &listed, &SERVERS_LOCK];
    match client.execute(insert, &row).await.map_err(write_error)? {
        0 => Err(unreachable_because(
            "`store-orders restore`, or `migrate --new-store-id`, uses it; wait until that has ended",
        )),
        _ => Ok(()),
    }
}

/// Removes the replica's row. Waits if a heartbeat has locked it.
pub async fn deregister(client: &Client, replica: &Replica) -> Result<(), StoreError> {
    let remove = "DELETE FROM replicas WHERE id = $1";
    client.execute(remove, &[&replica.id()]).await.map_err(write_error).map(drop)
}
