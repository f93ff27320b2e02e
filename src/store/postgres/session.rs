//! A session: six connections to one database server, each with a fixed role. If one of them is
//! lost, or an answer is late, all six are closed. Answers of an ended session are discarded.
//!
//! A replaced primary still answers reads. So answers are valid only until a second after the last
//! confirmed heartbeat was *sent*. A heartbeat is a commit, which a replaced primary with a
//! synchronous standby cannot confirm.

mod durability;
mod ending;
pub(super) mod heartbeat;
mod list_freshness;
pub(super) mod opener;
pub(super) mod prepared;
pub(super) mod replica;

use super::connecting::roles::Role;
use super::connecting::{ConnectError, Connection, ServerIdentity, Target, connect_to};
use super::error::{postgres_error, read_error, unreachable_because};
use super::journal::{JournalAnswer, JournalSeen, parse_answer};
use super::limits::Admission;
use super::rows::{read_row, value};
use crate::clock::BootInstant;
use crate::keys::Digest;
use crate::log::ErrorChain;
use crate::store::account_rows::MAX_CHANGED_KEYS;
use crate::store::agreement::journal::AnswerRejected;
use crate::store::agreement::lease::{Confirmed, Lease, OldLeaseWait};
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::CONNECT_LIMIT;
use crate::store::{
    KeyChange, LastChanges, LookedUpKeys, PolledChanges, PolledKeys, Position, StoreError,
};
use ending::Ending;
use list_freshness::ListQueries;
use parking_lot::Mutex;
use prepared::{BatchStatements, HeartbeatStatements, KEY_COLUMNS, KeyStatements};
use replica::Replica;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

/// Six connections to one server.
pub struct Session {
    /// The history that the session follows.
    pub history: u64,
    /// The store's id.
    pub store_id: String,
    /// The database server.
    pub server: ServerIdentity,
    /// Until this wait is over, no cancellation is acknowledged and no list is answered, because
    /// another server may still have a valid lease on a replaced primary.
    pub wait: OldLeaseWait<Instant>,
    /// Cancels orders.
    pub writer: Connection,
    /// The statements of `writer`.
    pub batch_statements: BatchStatements,
    /// Locked while a batch uses the writer, so that the statements of two batches do not mix.
    pub writing: tokio::sync::Mutex<()>,
    /// Queries the last changes for lists and keys, and the schema version. Each statement is its
    /// own transaction.
    pub freshness: Connection,
    /// The freshness queries of lists.
    pub list_queries: ListQueries,
    /// The statements for keys, on `freshness`.
    pub key_statements: KeyStatements,
    /// Reads single orders and pets, with pipelined statements.
    pub reader: Connection,
    /// Records the uses of keys, removes old rows of the tables `changes` and `replicas`, and
    /// checks the schema version. Its statements may take long, so requests do not use it.
    pub maintenance: Connection,
    /// Sends only heartbeats, whose statements are pipelined. A statement of other work between
    /// them would run in the heartbeat's transaction. If that statement failed or waited, a working
    /// session would lose its lease or end.
    pub heartbeat: Connection,
    /// The statements of `heartbeat`.
    pub heartbeat_statements: HeartbeatStatements,
    /// Requests an immediate heartbeat.
    pub heartbeat_wanted: Notify,
    /// The number of the last change that is known to be confirmed.
    pub confirmed: watch::Sender<i64>,
    /// Counts requests.
    pub limits: Connection,
    /// The statement of `limits`.
    pub admission: Admission,
    /// The lease. Its clock also advances while the machine is suspended.
    lease: Mutex<Lease<BootInstant>>,
    /// Records the end of the session.
    pub ending: Ending,
    /// The reason why this program should no longer serve the store. Set if the schema has changed.
    outdated: Mutex<Option<String>>,
    url: PostgresUrl,
    target: Target,
}

/// The error of opening a session.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No primary could be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connections reached different servers.
    #[error("the connections came to different servers")]
    Different,
    /// The schema of the store does not fit this program.
    #[error(transparent)]
    Schema(StoreError),
    /// Another error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Session {
    /// Renews the lease after a heartbeat sent at this time was confirmed.
    pub fn renew_lease(&self, sent: BootInstant) -> Confirmed {
        self.lease.lock().renew(sent)
    }

    /// Records that a confirmed commit has seen the change of this number, so no failover can lose
    /// the change. A change that is visible may still be unconfirmed, because its own wait for the
    /// standby may have been cancelled.
    pub fn set_confirmed(&self, number: i64) {
        self.confirmed.send_if_modified(|last| {
            let is_later = number > *last;
            *last = number.max(*last);
            is_later
        });
    }

    /// Waits until the change of this number is confirmed.
    pub async fn require_confirmed(&self, number: i64) -> Result<(), StoreError> {
        let mut confirmed = self.confirmed.subscribe();
        tokio::select! {
            _ = confirmed.wait_for(|last| *last >= number) => Ok(()),
            why = self.ending.ended() => Err(unreachable_because(why)),
        }
    }

    /// Fails if the session has ended or its lease is not valid.
    pub fn require_lease(&self) -> Result<(), StoreError> {
        self.ending.require_open()?;
        match self.lease.lock().is_valid(BootInstant::now()) {
            true => Ok(()),
            false => self.require_accepted(Err(AnswerRejected::LeaseExpired)),
        }
    }

    /// Waits until the session ends or loses a connection. Then closes all six connections, and
    /// returns the reason.
    pub async fn close_when_ended(&self) -> String {
        let role = tokio::select! {
            _ = self.ending.ended() => None,
            () = self.writer.link.closed() => Some("writer"),
            () = self.freshness.link.closed() => Some("freshness"),
            () = self.reader.link.closed() => Some("reader"),
            () = self.maintenance.link.closed() => Some("maintenance"),
            () = self.heartbeat.link.closed() => Some("heartbeat"),
            () = self.limits.link.closed() => Some("limits"),
        };
        if let Some(role) = role {
            self.ending.end(&format_args!("the {role} connection was closed"));
        }
        self.list_queries.close();
        // Close the connections explicitly, because tasks may still own the session. Requests that
        // wait for an answer then fail at once.
        let Session { writer, freshness, reader, maintenance, heartbeat, limits, .. } = self;
        for connection in [writer, freshness, reader, maintenance, heartbeat, limits] {
            connection.close();
        }
        self.ending.ended().await
    }

    /// Reads the last changes, and the accounts and keys that changed after `after`. If the store
    /// was restored meanwhile, the session ends, and the next session rereads everything.
    pub async fn poll_keys(
        &self,
        replica: &Replica,
        after: Option<Position>,
    ) -> Result<PolledKeys, StoreError> {
        let (polled, _) = self.query_keys(replica, &self.key_statements.last_change, &[]).await?;
        let is_older = |after: &Position| {
            polled.last_changes.keys.has_more_than(*after) && after.history == self.history
        };
        // Read keys only if they have changed. Otherwise a lock on the table of keys would make
        // every poll fail, and the server would refuse valid cached keys.
        let Some(after) = after.filter(is_older) else {
            return Ok(PolledKeys { polled, changes: None });
        };
        let changed = &self.key_statements.changed;
        let (polled, changes) = self.query_keys(replica, changed, &[&after.number]).await?;
        let changes = (changes.len() <= MAX_CHANGED_KEYS).then_some(changes);
        Ok(PolledKeys { polled, changes })
    }

    /// Reads the keys with these digests.
    pub async fn look_up_keys(
        &self,
        replica: &Replica,
        digests: &[Digest],
    ) -> Result<LookedUpKeys, StoreError> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
        let (polled, keys) =
            self.query_keys(replica, &self.key_statements.look_up, &[&digests]).await?;
        let keys = keys.into_iter().filter_map(KeyChange::into_key).collect();
        Ok(LookedUpKeys { polled, keys })
    }

    /// Runs a statement for keys. Returns its rows, and the last changes that they reflect.
    async fn query_keys(
        &self,
        replica: &Replica,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<(PolledChanges, Vec<KeyChange>), StoreError> {
        let (asked_at, last_seen) = (BootInstant::now(), replica.last_seen());
        let (number, id) = last_seen.last().map(|change| (change.number, &*change.id)).unzip();
        let change: [&(dyn ToSql + Sync); 2] = [&number, &id];
        let parameters = [&change, parameters].concat();
        let rows = self.freshness.client.query(statement, &parameters).await.map_err(read_error)?;
        let (answer, lease) = (parse_answer(&rows)?, *self.lease.lock());
        let polled = self
            .with_seen(replica, |seen| answer.with_as_of(self.history, &lease, asked_at, seen))?;
        let mut keys = Vec::new();
        for row in &rows {
            // Without any keys there is one row, in which the columns of the key are NULL.
            if row.len() > KEY_COLUMNS && value::<Option<i64>>(row, KEY_COLUMNS)?.is_some() {
                keys.push(read_row(row, |row| KeyChange::read(row, KEY_COLUMNS))?);
            }
        }
        Ok((polled, keys))
    }

    /// Accepts an answer for list requests if the lease is valid. Returns its last changes.
    pub fn accept_under_lease(
        &self,
        replica: &Replica,
        answer: JournalAnswer,
    ) -> Result<LastChanges, StoreError> {
        let (lease, now) = (*self.lease.lock(), BootInstant::now());
        self.with_seen(replica, |seen| answer.accept_under_lease(self.history, &lease, now, seen))
    }

    /// Accepts an answer without checking the lease. Returns its last changes.
    pub fn accept(
        &self,
        replica: &Replica,
        answer: JournalAnswer,
    ) -> Result<LastChanges, StoreError> {
        self.with_seen(replica, |seen| answer.accept(self.history, seen))
    }

    /// Passes the last seen change to `decide`, which accepts or rejects an answer. Fails if
    /// `decide` rejects the answer.
    pub fn with_seen<T>(
        &self,
        replica: &Replica,
        decide: impl FnOnce(&mut JournalSeen) -> Result<T, AnswerRejected>,
    ) -> Result<T, StoreError> {
        self.require_accepted(replica.with_seen(decide))
    }

    /// Fails if an answer was rejected or the session has ended. An answer of a different history
    /// ends the session.
    fn require_accepted<T>(&self, answer: Result<T, AnswerRejected>) -> Result<T, StoreError> {
        match answer {
            Ok(accepted) => self.ending.require_open().map(|()| accepted),
            Err(AnswerRejected::LeaseExpired) => {
                Err(unreachable_because("its primary confirmed no commit within a second"))
            }
            Err(AnswerRejected::OtherHistory) => {
                let why = "its journal lacks a change that this server has seen";
                self.ending.end(&why);
                Err(unreachable_because(why))
            }
        }
    }

    /// Opens a further connection to the same server, for long work that must not delay anything
    /// else. Its loss does not end the session.
    pub async fn open_another(&self, role: &Role) -> Result<Connection, StoreError> {
        let opened = connect_to(&self.url, &self.target, role, CONNECT_LIMIT).await;
        let connection = opened.map_err(|error| unreachable_because(error.to_string()))?;
        if connection.server != self.server {
            return Err(unreachable_because(OpenError::Different.to_string()));
        }
        Ok(connection)
    }

    /// Records the result of the last schema check: the reason why this program should no longer
    /// serve the store, if any.
    pub fn set_outdated(&self, why: Option<String>) {
        *self.outdated.lock() = why;
    }

    /// The reason why this program should no longer serve the store, if any.
    pub fn outdated(&self) -> Option<String> {
        self.outdated.lock().clone()
    }

    /// Awaits an answer in this session. Fails if the answer is late or the session has ended. A
    /// late answer or another error of the connection ends the session.
    pub async fn answer<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = with_time_limit(limit, work).await;
        match &answer {
            Ok(_) => self.ending.require_open()?,
            Err(error) if is_connection_error(error) => self.ending.end(&ErrorChain(error)),
            Err(_) => {}
        }
        answer
    }
}

/// Awaits an answer. Fails if it is late.
pub async fn with_time_limit<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, work).await {
        Ok(answer) => answer,
        Err(_) => Err(unreachable_because(format!("no answer within {} ms", limit.as_millis()))),
    }
}

/// True if the connection failed, and not only the statement.
pub fn is_connection_error(error: &StoreError) -> bool {
    postgres_error(error).is_some_and(|error| error.state.is_none())
}

/// The number of requests at which [`gather_requests`] stops, because under steady load every
/// scheduler round could add more.
const MAX_GATHERED: usize = 256;

/// Yields to other tasks until a scheduler round adds no requests, so that requests that arrived
/// together share a statement. `waiting` returns the number of waiting requests.
pub(super) async fn gather_requests(waiting: impl Fn() -> usize) {
    let mut before = 0;
    loop {
        yield_now().await;
        let now = waiting();
        if now == before || now >= MAX_GATHERED {
            return;
        }
        before = now;
    }
}
