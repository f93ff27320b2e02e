//! Records the uses of keys, removes old rows, and checks the schema version and the durability of
//! commits. On a shared connection, this work could delay requests, so it has its own connection.

use super::durability::Durability;
use super::state::SessionState;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::write_error;
use crate::store::postgres::heartbeats::remove_silent;
use crate::store::postgres::journal::remove_old;
use crate::store::postgres::schema::{STORE, require_current};
use crate::store::postgres::timeouts::MAINTENANCE_LIMIT;
use crate::store::{MIN_USE_INTERVAL_MS, StoreError};
use parking_lot::Mutex;
use slog::Logger;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_postgres::types::{ToSql, Type};

/// The pause between two rounds of [`Maintenance::tidy`]. A round checks the schema version and the
/// standbys, and removes old rows.
const TIDY_INTERVAL: Duration = Duration::from_secs(1);

pub struct Maintenance {
    connection: Arc<Connection>,
    /// The reason why this program should no longer serve the store, according to the last check of
    /// the schema version.
    outdated: Mutex<Option<String>>,
    state: Arc<SessionState>,
}

impl Maintenance {
    pub fn new(connection: Arc<Connection>, state: Arc<SessionState>) -> Maintenance {
        Maintenance { connection, outdated: Mutex::default(), state }
    }

    pub async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
        let (rows, times): (Vec<i64>, Vec<i64>) = uses.into_iter().unzip();
        // Check `MIN_USE_INTERVAL_MS` again, because another server may have recorded a use of the
        // key. Skip locked rows, because waiting for a row would delay all other keys.
        let update = "
            WITH free AS (SELECT keys.row, use.at
                          FROM keys JOIN unnest($1::bigint[], $2::bigint[]) use (key, at)
                          ON keys.row = use.key
                          WHERE used_at IS NULL OR abs(use.at - used_at) >= $3
                          ORDER BY keys.row FOR NO KEY UPDATE OF keys SKIP LOCKED)
            UPDATE keys SET used_at = free.at FROM free WHERE keys.row = free.row";
        let recording = async {
            let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
                (&rows, Type::INT8_ARRAY),
                (&times, Type::INT8_ARRAY),
                (&MIN_USE_INTERVAL_MS, Type::INT8),
            ];
            self.connection.client.execute_typed(update, &parameters).await.map_err(write_error)
        };
        self.state.answer(MAINTENANCE_LIMIT, recording).await.map(drop)
    }

    /// Fails if the last check of the schema version found that this program should no longer serve
    /// the store.
    pub fn require_current(&self) -> Result<(), StoreError> {
        let outdated = self.outdated.lock().clone();
        outdated.map_or(Ok(()), |why| Err(StoreError::Refused(why)))
    }

    /// Does these tasks repeatedly until the session ends:
    ///
    /// - Checks the schema version and the durability of commits.
    /// - Removes old rows of the journal.
    /// - Removes the rows of servers that have sent no heartbeat for at least `silent_for`.
    pub async fn tidy(&self, silent_for: Duration, log: &Logger) {
        let client = &self.connection.client;
        let (mut floor, mut last_heartbeats, mut checked_at) = (0, Vec::new(), None::<Instant>);
        loop {
            let check = self.state.answer(MAINTENANCE_LIMIT, require_current(client, STORE)).await;
            if self.state.require_open().is_err() {
                return;
            }
            *self.outdated.lock() = match check {
                Err(StoreError::Refused(why) | StoreError::Unusable(why)) => Some(why),
                _ => None,
            };
            // Ignore errors here and below, because the next round repeats the statements.
            let durability = self.state.answer(MAINTENANCE_LIMIT, Durability::read(client)).await;
            if let Ok(durability) = durability {
                durability.record(false, &self.state.replica, log);
            }
            if let Ok(removed) =
                self.state.answer(MAINTENANCE_LIMIT, remove_old(client, floor)).await
            {
                floor = removed;
                if checked_at.is_none_or(|time| time.elapsed() >= silent_for)
                    && let removing = remove_silent(client, &last_heartbeats)
                    && let Ok(heartbeats) = self.state.answer(MAINTENANCE_LIMIT, removing).await
                {
                    (last_heartbeats, checked_at) = (heartbeats, Some(Instant::now()));
                }
            }
            tokio::select! {
                () = sleep(TIDY_INTERVAL) => {}
                _ = self.state.ended() => return,
            }
        }
    }
}
