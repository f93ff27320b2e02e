//! A session: five connections to one server, each with a fixed role. The loss of any, an
//! answer that is late, or a difference among them ends all five, and nothing that was
//! answered through an ended session is applied.
//!
//! A primary that was replaced still answers reads. So a session counts only until a second
//! after the *sending* of its last confirmed heartbeat: a commit, which a replaced primary
//! with a synchronous standby cannot confirm.

mod durability;
mod ending;
pub(super) mod heartbeat;
mod list_freshness;
pub(super) mod opener;
pub(super) mod prepared;
pub(super) mod replica;

use super::connecting::roles::Role;
use super::connecting::{ConnectError, Connection, ServerIdentity, Target, connect_to};
use super::error::{postgres_error, read, unreachable_because};
use super::journal::{JournalAnswer, JournalSeen, answer_of};
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
    ChangeNumber, KeyChange, LastChanges, LookedUpKeys, PolledChanges, PolledKeys, StoreError,
};
use ending::Ending;
use list_freshness::ListQuestions;
use parking_lot::Mutex;
use prepared::{BatchStatements, HeartbeatStatements, KEY_COLUMNS, KeyStatements};
use replica::Replica;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, RwLock, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

/// Five connections to one server.
pub struct Session {
    /// The generation that it is at.
    pub generation: u64,
    /// The store's id.
    pub store_id: String,
    /// What numbers of changes belong to, on every server of the store.
    pub history: u64,
    /// Which server it is.
    pub server: ServerIdentity,
    /// No cancellation is acknowledged before, and no list answered: an older session, to a
    /// primary that was replaced, may still count until then.
    pub wait: OldLeaseWait<Instant>,
    /// Cancels orders.
    pub writer: Connection,
    /// Its statements.
    pub batch: BatchStatements,
    /// Held while the writer is used: statements of two batches would mix.
    pub writing: tokio::sync::Mutex<()>,
    /// Answers the questions of lists, and what keys and the schema are at. Each statement on it is
    /// a transaction of its own.
    pub freshness: Connection,
    /// Those of lists.
    pub questions: ListQuestions,
    /// Those for keys.
    pub keys: KeyStatements,
    /// Pets, and the uses of keys.
    pub reader: Connection,
    /// Shared by statements for single rows, which do not wait for each other's answers. Everything
    /// else has the reader to itself.
    pub reading: RwLock<()>,
    /// Sends heartbeats, and nothing else: a statement of another transaction among theirs would
    /// end sessions that work.
    pub heartbeat: Connection,
    /// Its statements.
    pub beat: HeartbeatStatements,
    /// Has the next heartbeat sent at once.
    pub heartbeat_wanted: Notify,
    /// The number of the last change that is known to be confirmed.
    pub confirmed: watch::Sender<i64>,
    /// Counts requests.
    pub limits: Connection,
    /// Its statement.
    pub admission: Admission,
    /// It expires also while the machine is suspended.
    lease: Mutex<Lease<BootInstant>>,
    /// Whether it has ended.
    pub ending: Ending,
    /// Why this program should not serve the store, since its schema changed.
    outdated: Mutex<Option<String>>,
    url: PostgresUrl,
    target: Target,
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No primary was reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connections came to different servers.
    #[error("the connections came to different servers")]
    Different,
    /// The schema of the store does not fit this program.
    #[error(transparent)]
    Schema(StoreError),
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Session {
    /// A heartbeat that was sent then was confirmed.
    pub fn renew_lease(&self, sent: BootInstant) -> Confirmed {
        self.lease.lock().renew(sent)
    }

    /// Records a confirmed commit that saw the change of this number: no failover loses that
    /// change. It may have been visible before, if its own wait for the standby was cancelled.
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

    /// Fails unless the lease is valid.
    pub fn require_lease(&self) -> Result<(), StoreError> {
        self.ending.require_open()?;
        match self.lease.lock().is_valid(BootInstant::now()) {
            true => Ok(()),
            false => self.require_accepted(Err(AnswerRejected::LeaseExpired)),
        }
    }

    /// Waits until the session or a connection of it has been ended, closes all five connections,
    /// and says why.
    pub async fn closed(&self) -> String {
        let role = tokio::select! {
            _ = self.ending.ended() => None,
            () = self.writer.link.closed() => Some("writer"),
            () = self.freshness.link.closed() => Some("freshness"),
            () = self.reader.link.closed() => Some("reader"),
            () = self.heartbeat.link.closed() => Some("heartbeat"),
            () = self.limits.link.closed() => Some("limits"),
        };
        if let Some(role) = role {
            self.ending.end(&format_args!("the {role} connection was closed"));
        }
        self.questions.close();
        // Requests that still wait get an error at once, and tasks that still hold the session keep
        // no connection open.
        let Session { writer, freshness, reader, heartbeat, limits, .. } = self;
        for connection in [writer, freshness, reader, heartbeat, limits] {
            connection.close();
        }
        self.ending.ended().await
    }

    /// The last changes, and the accounts and keys that changed after this one. Rows that were
    /// restored under the session end it, and the next one reads everything again.
    pub async fn poll_keys(
        &self,
        replica: &Replica,
        after: Option<ChangeNumber>,
    ) -> Result<PolledKeys, StoreError> {
        let (polled, _) = self.ask_for_keys(replica, &self.keys.last_change, &[]).await?;
        let is_older = |after: &ChangeNumber| {
            polled.last_changes.of_keys().has_more_than(*after)
                && after.generation == self.generation
        };
        // Only then, so that somebody's lock of the keys refuses none that are in use.
        let Some(after) = after.filter(is_older) else {
            return Ok(PolledKeys { polled, changes: None });
        };
        let changed = &self.keys.changed;
        let (polled, changes) = self.ask_for_keys(replica, changed, &[&after.number]).await?;
        let changes = (changes.len() <= MAX_CHANGED_KEYS).then_some(changes);
        Ok(PolledKeys { polled, changes })
    }

    /// The keys of these digests.
    pub async fn look_up_keys(
        &self,
        replica: &Replica,
        digests: &[Digest],
    ) -> Result<LookedUpKeys, StoreError> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
        let (polled, keys) = self.ask_for_keys(replica, &self.keys.look_up, &[&digests]).await?;
        let keys = keys.into_iter().filter_map(KeyChange::into_key).collect();
        Ok(LookedUpKeys { polled, keys })
    }

    /// The rows of one of the statements for keys, and what they are as of.
    async fn ask_for_keys(
        &self,
        replica: &Replica,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<(PolledChanges, Vec<KeyChange>), StoreError> {
        let (asked, last_seen) = (BootInstant::now(), replica.seen());
        let (number, id) = last_seen.last().map(|seen| (seen.number, &*seen.id)).unzip();
        let seen: [&(dyn ToSql + Sync); 2] = [&number, &id];
        let parameters = [&seen, parameters].concat();
        let rows = self.freshness.client.query(statement, &parameters).await.map_err(read)?;
        let (answer, lease) = (answer_of(&rows)?, *self.lease.lock());
        let polled = self
            .with_seen(replica, |seen| answer.with_as_of(self.generation, &lease, asked, seen))?;
        let mut keys = Vec::new();
        for row in &rows {
            // Without a key there is one row, without an account.
            if row.len() > KEY_COLUMNS && value::<Option<i64>>(row, KEY_COLUMNS)?.is_some() {
                keys.push(read_row(row, |row| KeyChange::read(row, KEY_COLUMNS))?);
            }
        }
        Ok((polled, keys))
    }

    /// The last changes of an answer to lists.
    pub fn accept_under_lease(
        &self,
        replica: &Replica,
        answer: JournalAnswer,
    ) -> Result<LastChanges, StoreError> {
        let (lease, now) = (*self.lease.lock(), BootInstant::now());
        self.with_seen(replica, |seen| {
            answer.accept_under_lease(self.generation, &lease, now, seen)
        })
    }

    /// The last changes of rows that were read.
    pub fn accept(
        &self,
        replica: &Replica,
        answer: JournalAnswer,
    ) -> Result<LastChanges, StoreError> {
        self.with_seen(replica, |seen| answer.accept(self.generation, seen))
    }

    /// Decides about an answer with the last change that was seen.
    pub fn with_seen<T>(
        &self,
        replica: &Replica,
        decide: impl FnOnce(&mut JournalSeen) -> Result<T, AnswerRejected>,
    ) -> Result<T, StoreError> {
        self.require_accepted(replica.with_seen(decide))
    }

    /// Fails if an answer does not count or the session has ended. Another history ends the session.
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

    /// A connection besides the five, to the same server: for what takes long, and must not keep
    /// anything else waiting. Its loss does not end the session.
    pub async fn open_another(&self, role: &Role) -> Result<Connection, StoreError> {
        let opened = connect_to(&self.url, &self.target, role, CONNECT_LIMIT).await;
        let connection = opened.map_err(|error| unreachable_because(error.to_string()))?;
        if connection.server != self.server {
            return Err(unreachable_because(OpenError::Different.to_string()));
        }
        Ok(connection)
    }

    /// What the last look at the schema found: why this program should not serve it.
    pub fn set_outdated(&self, why: Option<String>) {
        *self.outdated.lock() = why;
    }

    /// Why this program should no longer serve the store.
    pub fn outdated(&self) -> Option<String> {
        self.outdated.lock().clone()
    }

    /// An answer of this session, or an error if it is late, or was given through a session
    /// that has ended. A late answer ends the session.
    pub async fn answer<T>(
        &self,
        limit: Duration,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = within(limit, asked).await;
        match &answer {
            Ok(_) => self.ending.require_open()?,
            Err(error) if is_of_connection(error) => self.ending.end(&ErrorChain(error)),
            Err(_) => {}
        }
        answer
    }
}

/// The answer, or an error if it is late.
pub async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(unreachable_because(format!("no answer within {} ms", limit.as_millis()))),
    }
}

/// Whether the connection failed, and not only the statement.
pub fn is_of_connection(error: &StoreError) -> bool {
    postgres_error(error).is_some_and(|error| error.state.is_none())
}

/// A batch of this many requests is sent without waiting for more: under steady load every round
/// could bring more.
const MAX_GATHERED: usize = 256;

/// Yields to other tasks until a round brings no further requests, so that those that arrived
/// together share a statement.
pub(super) async fn gathered(waiting: impl Fn() -> usize) {
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
