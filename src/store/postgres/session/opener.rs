//! Opens the next session whenever a session ends. If the journal of the next session's primary
//! lacks the last change that this server has seen, a new history begins. The server then discards
//! its cached keys and reads all orders again.

use super::durability::Durability;
use super::heartbeat::{deregister, register};
use super::replica::Replica;
use super::{
    BatchWriter, Counter, Heartbeat, KeyReader, ListReader, Maintenance, OpenError, RowReader,
    Session, SessionState, with_time_limit,
};
use crate::log::ErrorChain;
use crate::store::StoreError;
use crate::store::agreement::lease::OldLeaseWait;
use crate::store::postgres::connecting::roles::{
    FRESHNESS, HEARTBEAT, LIMITER, MAINTENANCE, READER, WRITER,
};
use crate::store::postgres::connecting::{
    ConnectError, Connection, PostgresUrl, Target, connect_to, targets,
};
use crate::store::postgres::error::{read_error, unreachable_because};
use crate::store::postgres::journal::query_journal;
use crate::store::postgres::rate_limiter::owner::require_own_counts;
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::{STORE, require_current};
use crate::store::postgres::timeouts::{CONFIRM_LIMIT, CONNECT_LIMIT, READ_LIMIT, RETRY_PAUSE};
use futures::FutureExt;
use slog::{Logger, info, warn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;

pub struct Opener {
    pub url: PostgresUrl,
    pub replica: Arc<Replica>,
    /// True if each freshness query of a list request makes a commit that the standby must confirm.
    pub confirms_lists: bool,
    /// The time without heartbeats after which a server's row is removed.
    pub silent_for: Duration,
    pub log: Logger,
}

/// The current session, or the reason why there is none.
pub type Current = Result<Arc<Session>, Arc<str>>;

impl Opener {
    /// Tries to open the first session, and starts a task that opens further sessions until the
    /// server stops. Fails only if the first attempt fails and no later attempt can succeed. After
    /// any other failure, the receiver has the reason until the task has opened a session.
    pub async fn start(self) -> Result<watch::Receiver<Current>, OpenError> {
        let first = match self.open(None).await {
            Ok(first) => Ok(first),
            Err(error) if error.is_final() => return Err(error),
            Err(error) => Err(self.warn_not_reached(&error)),
        };
        let (current, receiver) = watch::channel(first.clone());
        tokio::spawn(self.keep_replacing(first.ok(), current));
        Ok(receiver)
    }

    fn warn_not_reached(&self, error: &OpenError) -> Arc<str> {
        let why = error.to_string();
        warn!(self.log, "store not reached"; "error" => &why,
            "effect" => "requests are answered with 503 until the store is reached");
        why.into()
    }

    /// Replaces sessions until the server stops. Continues after a panic, because without this task
    /// the server could not replace a lost session.
    async fn keep_replacing(
        self,
        mut session: Option<Arc<Session>>,
        current: watch::Sender<Current>,
    ) {
        while AssertUnwindSafe(self.replace(&mut session, &current)).catch_unwind().await.is_err() {
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn replace(&self, session: &mut Option<Arc<Session>>, current: &watch::Sender<Current>) {
        loop {
            if let Some(ended) = session {
                let why = ended.close_when_ended().await;
                warn!(self.log, "store lost"; "server" => %ended.server.address, "error" => &why);
                drop(current.send_replace(Err(why.into())));
            }
            let next = loop {
                if current.is_closed() || self.replica.has_left() {
                    return;
                }
                match self.open(session.as_deref()).await {
                    Ok(next) => break next,
                    Err(error) => {
                        let is_new = current
                            .borrow()
                            .as_ref()
                            .err()
                            .is_none_or(|why| **why != *error.to_string());
                        let why = match session {
                            None if is_new => self.warn_not_reached(&error),
                            _ => error.to_string().into(),
                        };
                        drop(current.send_replace(Err(why)));
                    }
                }
                sleep(RETRY_PAUSE).await;
            };
            let event = match session {
                None => "store reached",
                Some(_) => "store reached again",
            };
            info!(self.log, "{}", event; "server" => %next.server.address,
                "timeline" => &next.server.timeline, "history" => next.state.history);
            *session = Some(Arc::clone(&next));
            drop(current.send_replace(Ok(next)));
        }
    }

    /// Opens a session, and records whether its primary's commits are durable. `before` is the
    /// previous session.
    async fn open(&self, before: Option<&Session>) -> Result<Arc<Session>, OpenError> {
        let mut durability = Durability::default();
        let session = self.open_at_primary(before, &mut durability).await.inspect_err(|_| {
            self.replica.set_standbys(durability.standbys());
        })?;
        let is_new_primary = before.is_some_and(|before| before.server != session.server);
        durability.record(is_new_primary, &self.replica, &self.log);
        self.start_tasks(&session);
        Ok(session)
    }

    /// Opens a session to the first host that claims to be the primary and confirms a commit. The
    /// claim alone is not enough, because a replaced primary may still claim to be the primary.
    async fn open_at_primary(
        &self,
        before: Option<&Session>,
        durability: &mut Durability,
    ) -> Result<Arc<Session>, OpenError> {
        let mut refusals = Vec::new();
        for target in targets(&self.url, CONNECT_LIMIT, &mut refusals).await {
            match self.open_at(&target, before, durability).await {
                Ok(session) => return Ok(session),
                Err(error @ OpenError::Schema(_)) => return Err(error),
                Err(OpenError::Connect(error)) => refusals.push(error),
                Err(error) => {
                    let text = format!("{target}: {}", ErrorChain(&error));
                    refusals.push(ConnectError { text, is_final: error.is_final() });
                }
            }
        }
        Err(ConnectError::no_primary(&refusals).into())
    }

    async fn open_at(
        &self,
        target: &Target,
        before: Option<&Session>,
        durability: &mut Durability,
    ) -> Result<Arc<Session>, OpenError> {
        let (url, replica) = (&self.url, &self.replica);
        let writer = connect_to(url, target, &WRITER, CONNECT_LIMIT).await?;
        let opened = Instant::now();
        with_time_limit(READ_LIMIT, require_current(&writer.client, STORE)).await.map_err(unfit)?;
        let connections = open_other_connections(url, target, writer).await?;
        let [writer, .., heartbeat, limits] = &connections;
        if connections.iter().any(|other| other.server != writer.server) {
            return Err(OpenError::Different);
        }
        *durability =
            with_time_limit(READ_LIMIT, Durability::read_for_opening(&writer.client)).await?;
        durability.require_standbys()?;
        with_time_limit(CONFIRM_LIMIT, register(&heartbeat.client, replica)).await?;
        let preparing = async {
            let (client, server) = (&writer.client, &writer.server);
            // Check the schema again, because a command may have migrated it since the first check.
            let usable = async {
                require_current(client, STORE).await?;
                let query = "SELECT store_id FROM identity";
                let row = client.query_one(query, &[]).await.map_err(read_error)?;
                let id: String = value(&row, 0)?;
                require_own_counts(&limits.client, url, &id).await.map(|()| id)
            };
            let store_id = with_time_limit(READ_LIMIT, usable).await.map_err(unfit)?;
            require_one_store(&store_id, before)?;
            let last_seen = replica.last_seen();
            let answer = with_time_limit(READ_LIMIT, query_journal(client, &last_seen)).await?;
            let opening = answer.opening(&last_seen);
            let before = before.map(|before| (&before.server, before.state.wait));
            let wait = OldLeaseWait::for_session(opened, server, before);
            let prepared = async {
                let replica = Arc::clone(replica);
                let state = Arc::new(SessionState::new(opening.history, wait, replica));
                let shared = || Arc::clone(&state);
                let [writer, freshness, reader, maintenance, heartbeat, limits] =
                    connections.clone();
                Ok(Session {
                    counter: Counter::prepare(limits, shared()).await.map_err(read_error)?,
                    writer: BatchWriter::prepare(writer, shared()).await.map_err(read_error)?,
                    heartbeat: Heartbeat::prepare(heartbeat, shared()).await.map_err(read_error)?,
                    keys: KeyReader::prepare(freshness, shared()).await.map_err(read_error)?,
                    lists: ListReader::new(shared()),
                    rows: RowReader::new(reader, shared()),
                    maintenance: Maintenance::new(maintenance, shared()),
                    connections: connections.clone(),
                    state: shared(),
                    store_id,
                    server: server.clone(),
                    url: url.clone(),
                    target: target.clone(),
                })
            };
            let session = with_time_limit(READ_LIMIT, prepared).await?;
            let confirmed = with_time_limit(CONFIRM_LIMIT, session.heartbeat.beat(None)).await?;
            replica.with_seen(|seen| opening.record(confirmed, seen));
            Ok(Arc::new(session))
        };
        let session = preparing.await;
        if session.is_err() {
            self.remove_row(heartbeat).await;
        }
        session
    }

    /// After a failed attempt to open a session, removes this server's row, so that no command
    /// waits for the server's heartbeats. Ignores errors, because a remaining row only delays
    /// commands.
    async fn remove_row(&self, heartbeat: &Connection) {
        let removal = deregister(&heartbeat.client, &self.replica);
        let _ = with_time_limit(CONFIRM_LIMIT, removal).await;
    }

    fn start_tasks(&self, session: &Arc<Session>) {
        let (silent_for, confirms_lists) = (self.silent_for, self.confirms_lists);
        let log = self.log.clone();
        let [answering, beating, tidying] = [(); 3].map(|()| Arc::clone(session));
        tokio::spawn(async move {
            let [_, freshness, ..] = &answering.connections;
            let answers = answering.lists.answer_requests(freshness, confirms_lists);
            answering.state.guard("answers lists", answers).await
        });
        tokio::spawn(async move {
            beating.state.guard("sends heartbeats", beating.heartbeat.keep_beating()).await
        });
        tokio::spawn(async move {
            let tidy = tidying.maintenance.tidy(silent_for, &log);
            tidying.state.guard("looks at the schema", tidy).await
        });
    }
}

fn unfit(error: StoreError) -> OpenError {
    match error {
        StoreError::Refused(_) | StoreError::Unusable(_) => OpenError::Schema(error),
        other => OpenError::Store(other),
    }
}

/// Opens the five connections besides `writer`. Returns all six in the order of
/// [`NAMES`](super::NAMES).
async fn open_other_connections(
    url: &PostgresUrl,
    target: &Target,
    writer: Connection,
) -> Result<[Arc<Connection>; 6], ConnectError> {
    let limits = url.counts_database();
    let open = |url, role| connect_to(url, target, role, CONNECT_LIMIT);
    let (freshness, reader, maintenance, heartbeat, limits) = tokio::join!(
        open(url, &FRESHNESS),
        open(url, &READER),
        open(url, &MAINTENANCE),
        open(url, &HEARTBEAT),
        open(&limits, &LIMITER),
    );
    Ok([writer, freshness?, reader?, maintenance?, heartbeat?, limits?].map(Arc::new))
}

/// Fails if the database now has a different store than before. The server counts requests by
/// account id, and another store uses the same ids for other accounts.
fn require_one_store(id: &str, before: Option<&Session>) -> Result<(), StoreError> {
    match before {
        Some(before) if before.store_id != id => Err(StoreError::Refused(
            "the database now holds a different store; fix: restart the server if it should serve \
             this store"
                .to_string(),
        )),
        _ => Ok(()),
    }
}

pub fn current(sessions: &watch::Receiver<Current>) -> Result<Arc<Session>, StoreError> {
    sessions.borrow().clone().map_err(|why| unreachable_because(&*why))
}
