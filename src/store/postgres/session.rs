//! A session: five connections to one server, each with a fixed role. The loss of any, an
//! answer that is late, or a difference among them ends all five, and nothing that was
//! answered through an ended session is applied.
//!
//! A primary that was replaced still answers reads. So a session counts only until a second
//! after the *sending* of its last confirmed heartbeat: a commit, which a replaced primary
//! with a synchronous standby cannot confirm.

mod durability;
pub(super) mod heartbeat;
pub(super) mod opener;
pub(super) mod replica;
pub(super) mod statements;
mod version_check;

use super::columns::value;
use super::connecting::roles::{CHECKER, HEARTBEAT, LIMITER, READER, Role, WRITER};
use super::connecting::{ConnectError, Connection, ServerIdentity, Target, connect_to};
use super::error::{PostgresError, read, unreachable_because, written};
use super::journal::{Change, Last, SELECT_LAST_AND_KNOWN, last_and_known};
use super::schema::{LIMITS, STORE, require_current};
use crate::clock::BootInstant;
use crate::limits::postgres::Admission;
use crate::log::ErrorChain;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::timeouts::{CONFIRMED_FOR, CONNECT_LIMIT, READ_LIMIT};
use crate::store::{StoreError, Versions};
use durability::require_standby;
use parking_lot::Mutex;
use replica::Replica;
use statements::{BatchStatements, HeartbeatStatements};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_postgres::{Client, Statement};

/// What a list waits for.
pub type CheckSender = oneshot::Sender<Result<Versions, Arc<StoreError>>>;

/// Five connections to one server.
pub struct Session {
    /// The generation that it is at.
    pub generation: u64,
    /// The store's id.
    pub store_id: String,
    /// Which server it is.
    pub server: ServerIdentity,
    /// When its first connection was open. Not two sessions of a server have one such instant.
    pub opened: Instant,
    /// No cancellation is acknowledged before, and no list answered: an older session, to a
    /// primary that was replaced, may still count until then.
    pub acknowledges_from: Instant,
    /// Cancels orders.
    pub writer: Connection,
    /// Its statements.
    pub batch: BatchStatements,
    /// Held while the writer is used: statements of two batches would mix.
    pub writing: tokio::sync::Mutex<()>,
    /// Answers the checks of lists, and what keys and the schema are at. It takes statements
    /// alone, but for those of `--confirm-lists`, which nothing else here disturbs.
    pub checker: Connection,
    /// [`SELECT_LAST_AND_KNOWN`] on it.
    pub select_last_and_known: Statement,
    /// Pets, keys and their uses, and changed orders.
    pub reader: Connection,
    /// Held while the reader is used.
    pub reading: tokio::sync::Mutex<()>,
    /// Sends heartbeats, and nothing else: a statement of another transaction among theirs would
    /// end sessions that work.
    pub heartbeat: Connection,
    /// Its statements.
    pub beat: HeartbeatStatements,
    /// Counts requests.
    pub limits: Connection,
    /// Its statement.
    pub admission: Admission,
    checks: mpsc::UnboundedSender<CheckSender>,
    /// When the last confirmed heartbeat was sent; none before the first.
    confirmed: Mutex<Option<BootInstant>>,
    /// Why it has ended; none before.
    why_ended: watch::Sender<Option<String>>,
    /// Why this program should not serve the store, since its schema changed.
    outdated: Mutex<Option<String>>,
    url: PostgresUrl,
    target: Target,
}

/// What is opened, before it has its statements.
pub struct Opened {
    /// Which server it is.
    pub server: ServerIdentity,
    /// The store's id.
    pub store_id: String,
    /// The one before, if its journal has the last change that this server has seen.
    pub generation: u64,
    /// The last change of its journal.
    pub last: Change,
    /// When the first connection was open.
    pub at: Instant,
    connections: [Connection; 5],
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

impl Opened {
    /// Opens the connections to this server, and refuses a store whose schema does not fit.
    pub async fn open(
        url: &PostgresUrl,
        target: &Target,
        replica: &Replica,
    ) -> Result<Opened, OpenError> {
        let writer = connect_to(url, target, &WRITER, CONNECT_LIMIT).await?;
        let at = Instant::now();
        let [checker, reader, heartbeat, limits] = others(url, target).await?;
        let connections = [writer, checker, reader, heartbeat, limits];
        let [first, rest @ .., limits] = &connections;
        if rest.iter().chain([limits]).any(|other| other.server != first.server) {
            return Err(OpenError::Different);
        }
        let server = first.server.clone();
        let unfit = |error| match error {
            StoreError::Refused(_) => OpenError::Schema(error),
            other => OpenError::Store(other),
        };
        within(READ_LIMIT, require_current(&first.client, STORE)).await.map_err(unfit)?;
        within(READ_LIMIT, require_standby(&first.client)).await?;
        let (store_id, generation, last): (String, _, _) = within(READ_LIMIT, async {
            let id = first.client.query_one("SELECT store_id FROM identity", &[]).await;
            let seen = replica.seen();
            let (last, is_known) =
                last_and_known(&first.client, SELECT_LAST_AND_KNOWN, &seen).await?;
            let generation = seen.map_or(0, |(before, _)| before + u64::from(!is_known));
            Ok((value(&id.map_err(read)?, 0)?, generation, last.change))
        })
        .await?;
        within(READ_LIMIT, require_own(&limits.client, url, &store_id)).await.map_err(unfit)?;
        let (url, target) = (url.clone(), target.clone());
        Ok(Opened { server, store_id, generation, last, at, connections, url, target })
    }
}

async fn others(url: &PostgresUrl, target: &Target) -> Result<[Connection; 4], ConnectError> {
    let limits = url.limits();
    let again = |role: &'static Role| connect_to(url, target, role, CONNECT_LIMIT);
    let counting = connect_to(&limits, target, &LIMITER, CONNECT_LIMIT);
    let (checker, reader, heartbeat, limits) =
        tokio::join!(again(&CHECKER), again(&READER), again(&HEARTBEAT), counting);
    Ok([checker?, reader?, heartbeat?, limits?])
}

/// Refuses tables of the request counts that do not fit, or are another store's: its ids of
/// accounts and keys mean others.
async fn require_own(client: &Client, url: &PostgresUrl, store_id: &str) -> Result<(), StoreError> {
    require_current(client, LIMITS).await?;
    let Some(database) = url.limits_database() else { return Ok(()) };
    let claim = "UPDATE limits_schema SET store_id = $1 WHERE store_id IS NULL";
    let found = "SELECT store_id FROM limits_schema";
    let owner = async || client.query_one(found, &[]).await.and_then(|row| row.try_get(0));
    let mut owner_id: Option<String> = owner().await.map_err(read)?;
    if owner_id.is_none() {
        client.execute(claim, &[&store_id]).await.map_err(written)?;
        owner_id = owner().await.map_err(read)?;
    }
    if owner_id.as_deref() == Some(store_id) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the database {database:?} has the request counts of another store; fix: name another \
         --limits-database, or drop this one if that store is gone, and run `store-orders migrate`"
    )))
}

impl Session {
    /// The session; lists that ask for the versions come out of the
    /// receiver, to be answered through the checker.
    pub async fn begin(
        opened: Opened,
        acknowledges_from: Instant,
    ) -> Result<(Arc<Session>, mpsc::UnboundedReceiver<CheckSender>), StoreError> {
        let Opened { server, store_id, generation, at, connections, url, target, .. } = opened;
        let [writer, checker, reader, heartbeat, limits] = connections;
        let admission = Admission::prepare(&limits.client).await.map_err(read)?;
        let batch = BatchStatements::prepare(&writer.client).await.map_err(read)?;
        let beat = HeartbeatStatements::prepare(&heartbeat.client).await.map_err(read)?;
        let select_last_and_known =
            checker.client.prepare(SELECT_LAST_AND_KNOWN).await.map_err(read)?;
        let (checks, asked) = mpsc::unbounded_channel();
        let session = Session {
            generation,
            store_id,
            server,
            opened: at,
            acknowledges_from,
            writer,
            batch,
            writing: tokio::sync::Mutex::default(),
            checker,
            reader,
            reading: tokio::sync::Mutex::default(),
            heartbeat,
            beat,
            select_last_and_known,
            limits,
            admission,
            checks,
            confirmed: Mutex::default(),
            why_ended: watch::Sender::default(),
            url,
            target,
            outdated: Mutex::default(),
        };
        Ok((Arc::new(session), asked))
    }

    /// Has a list wait for the versions.
    pub fn ask(&self, sender: CheckSender) {
        // Dropped if the session has ended, which the list takes for an error.
        let _ = self.checks.send(sender);
    }

    /// A heartbeat that was sent then was confirmed. The lease expires also while the machine is
    /// suspended.
    pub fn confirm(&self, sent: BootInstant) {
        *self.confirmed.lock() = Some(sent);
    }

    /// When the last confirmed heartbeat was sent.
    pub fn confirmed_at(&self) -> Option<BootInstant> {
        *self.confirmed.lock()
    }

    /// An error unless what was answered until now counts.
    pub fn require_confirmed(&self) -> Result<(), StoreError> {
        self.require_open()?;
        match self.confirmed_at() {
            Some(sent) if sent.elapsed() < CONFIRMED_FOR => Ok(()),
            _ => Err(unreachable_because("its primary confirmed no commit within a second")),
        }
    }

    /// An error if the session has ended.
    pub fn require_open(&self) -> Result<(), StoreError> {
        match &*self.why_ended.borrow() {
            None => Ok(()),
            Some(why) => Err(unreachable_because(&**why)),
        }
    }

    /// Ends the session, if it has not ended.
    pub fn end(&self, why: &dyn std::fmt::Display) {
        self.why_ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| why.to_string());
            is_first
        });
    }

    /// Waits until the session has been ended.
    pub async fn ended(&self) {
        // An error only without a sender, which is this session's own.
        let _ = self.why_ended.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the session has been ended, or a connection of it, closes all five, and
    /// says why.
    pub async fn closed(&self) -> String {
        let why = tokio::select! {
            () = self.ended() => None,
            () = self.writer.link.closed() => Some("writer"),
            () = self.checker.link.closed() => Some("checker"),
            () = self.reader.link.closed() => Some("reader"),
            () = self.heartbeat.link.closed() => Some("heartbeat"),
            () = self.limits.link.closed() => Some("limits"),
        };
        if let Some(role) = why {
            self.end(&format_args!("the {role}'s connection was closed"));
        }
        // What still waits for an answer has an error at once, and a task that still holds the
        // session keeps no connection open.
        let Session { writer, checker, reader, heartbeat, limits, .. } = self;
        for connection in [writer, checker, reader, heartbeat, limits] {
            connection.close();
        }
        self.why_ended.borrow().clone().unwrap_or_default()
    }

    /// The versions. Rows that were restored under the session end it, and the next one reads
    /// everything again.
    pub async fn versions(&self, replica: &Replica) -> Result<Versions, StoreError> {
        let client = &self.checker.client;
        let found = last_and_known(client, &self.select_last_and_known, &replica.seen()).await?;
        self.follow(replica, found)
    }

    /// The versions of a last change, which from now on was seen. If its journal lacks what was
    /// seen before, the session ends.
    pub fn follow(
        &self,
        replica: &Replica,
        (last, is_known): (Last, bool),
    ) -> Result<Versions, StoreError> {
        self.require_known(is_known)?;
        let versions = last.versions(self.generation);
        replica.saw(self.generation, last.change);
        Ok(versions)
    }

    /// An error, and the session's end, if its journal lacks what this server has seen.
    pub fn require_known(&self, is_known: bool) -> Result<(), StoreError> {
        if !is_known {
            self.end(&"its journal lacks a change that this server has seen");
        }
        self.require_open()
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
            Ok(_) => self.require_open()?,
            Err(error) if is_of_connection(error) => self.end(&ErrorChain(error)),
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
    let StoreError::Engine { source, .. } = error else { return false };
    source.downcast_ref::<PostgresError>().is_some_and(|error| error.state.is_none())
}
