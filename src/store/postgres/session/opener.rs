//! Opens the next session whenever a session ends. If the journal of the new session's primary
//! lacks the last change that this server has seen, a new history begins.

use super::durability::{require_standbys, warn_if_commits_can_be_lost};
use super::ending::Ending;
use super::heartbeat::{beat, deregister, keep_beating, register, tidy};
use super::list_freshness::{ListQueries, answer_list_queries};
use super::prepared::{BatchStatements, HeartbeatStatements, KeyStatements};
use super::replica::Replica;
use super::{OpenError, Session, with_time_limit};
use crate::log::ErrorChain;
use crate::store::agreement::lease::OldLeaseWait;
use crate::store::postgres::connecting::roles::{
    FRESHNESS, HEARTBEAT, LIMITER, MAINTENANCE, READER, Role, WRITER,
};
use crate::store::postgres::connecting::{
    ConnectError, Connection, PostgresUrl, Target, connect_to, targets,
};
use crate::store::postgres::error::{read_error, unreachable_because};
use crate::store::postgres::journal::query_journal;
use crate::store::postgres::limits::Admission;
use crate::store::postgres::limits::owner::require_own_counts;
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::{STORE, require_current};
use crate::store::postgres::timeouts::{CONFIRM_LIMIT, CONNECT_LIMIT, READ_LIMIT, RETRY_PAUSE};
use crate::store::{Standbys, StoreError};
use futures::FutureExt;
use parking_lot::Mutex;
use slog::{Logger, info, warn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// Opens sessions.
pub struct Opener {
    /// The URL of the store.
    pub url: PostgresUrl,
    /// This server process.
    pub replica: Arc<Replica>,
    /// If true, every freshness query of a list request makes a commit that the standby must
    /// confirm.
    pub confirms_lists: bool,
    /// The time without heartbeats after which a server's row is removed.
    pub silent_for: Duration,
    /// The log for lost and reopened sessions.
    pub log: Logger,
}

/// The current session, or the reason why there is none.
pub type Current = Result<Arc<Session>, Arc<str>>;

impl Opener {
    /// Opens the first session. From then on the receiver has the current session.
    pub async fn start(self) -> Result<watch::Receiver<Current>, OpenError> {
        let first = self.open(None).await?;
        warn_if_commits_can_be_lost(&first.freshness.client, &self.log).await;
        let (current, receiver) = watch::channel(Ok(Arc::clone(&first)));
        tokio::spawn(self.keep_replacing(first, current));
        Ok(receiver)
    }

    /// Replaces sessions until the server stops. Restarts after a panic, because otherwise the
    /// server would refuse all requests until it is restarted. The panic hook logs the panic.
    async fn keep_replacing(self, mut session: Arc<Session>, current: watch::Sender<Current>) {
        while AssertUnwindSafe(self.replace(&mut session, &current)).catch_unwind().await.is_err() {
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn replace(&self, session: &mut Arc<Session>, current: &watch::Sender<Current>) {
        loop {
            let why = session.close_when_ended().await;
            warn!(self.log, "store lost"; "server" => %session.server.address, "error" => &why);
            drop(current.send_replace(Err(why.into())));
            *session = loop {
                if current.is_closed() || self.replica.has_left() {
                    return;
                }
                match self.open(Some(session)).await {
                    Ok(session) => break session,
                    Err(error) => drop(current.send_replace(Err(error.to_string().into()))),
                }
                sleep(RETRY_PAUSE).await;
            };
            info!(self.log, "store reached again"; "server" => %session.server.address,
                "timeline" => &session.server.timeline, "history" => session.history);
            drop(current.send_replace(Ok(Arc::clone(session))));
        }
    }

    /// Opens a session after the session `before`, and records the state of the standbys.
    async fn open(&self, before: Option<&Session>) -> Result<Arc<Session>, OpenError> {
        let mut standbys = Standbys::default();
        let opened = self.open_at_primary(before, &mut standbys).await;
        self.replica.set_standbys(standbys);
        opened
    }

    /// Opens a session to the first host that is a primary and confirms a commit. A host's own
    /// claim is not enough, because a replaced primary also claims to be the primary.
    async fn open_at_primary(
        &self,
        before: Option<&Session>,
        standbys: &mut Standbys,
    ) -> Result<Arc<Session>, OpenError> {
        let mut refusals = Vec::new();
        for target in targets(&self.url, CONNECT_LIMIT, &mut refusals).await {
            match self.open_at(&target, before, standbys).await {
                Ok(session) => return Ok(session),
                Err(error @ OpenError::Schema(_)) => return Err(error),
                Err(OpenError::Connect(error)) => refusals.push(error.to_string()),
                Err(error) => refusals.push(format!("{target}: {}", ErrorChain(&error))),
            }
        }
        Err(ConnectError::no_primary(&refusals).into())
    }

    async fn open_at(
        &self,
        target: &Target,
        before: Option<&Session>,
        standbys: &mut Standbys,
    ) -> Result<Arc<Session>, OpenError> {
        let (url, replica) = (&self.url, &self.replica);
        let writer = connect_to(url, target, &WRITER, CONNECT_LIMIT).await?;
        let opened = Instant::now();
        let unfit = |error| match error {
            StoreError::Refused(_) | StoreError::Unusable(_) => OpenError::Schema(error),
            other => OpenError::Store(other),
        };
        with_time_limit(READ_LIMIT, require_current(&writer.client, STORE)).await.map_err(unfit)?;
        let [freshness, reader, maintenance, heartbeat, limits] =
            open_other_connections(url, target).await?;
        let server = writer.server.clone();
        let others = [&freshness, &reader, &maintenance, &heartbeat, &limits];
        if others.iter().any(|other| other.server != server) {
            return Err(OpenError::Different);
        }
        let client = &writer.client;
        with_time_limit(READ_LIMIT, require_standbys(client, standbys)).await?;
        with_time_limit(CONFIRM_LIMIT, register(&heartbeat.client, replica)).await?;
        let prepared = async {
            // The schema is checked again, because a command may have changed it before this server
            // was registered.
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
            let statements = async {
                Ok((
                    Admission::prepare(&limits.client).await.map_err(read_error)?,
                    BatchStatements::prepare(client).await.map_err(read_error)?,
                    HeartbeatStatements::prepare(&heartbeat.client).await.map_err(read_error)?,
                    KeyStatements::prepare(&freshness.client).await.map_err(read_error)?,
                ))
            };
            let statements = with_time_limit(READ_LIMIT, statements).await?;
            Ok((store_id, answer.opening(&last_seen), statements))
        };
        let (store_id, opening, statements) = match prepared.await {
            Ok(prepared) => prepared,
            Err(error) => {
                self.remove_row(&heartbeat).await;
                return Err(error);
            }
        };
        let (admission, batch_statements, heartbeat_statements, key_statements) = statements;
        let before = before.map(|before| (&before.server, before.wait));
        let session = Arc::new(Session {
            history: opening.history,
            store_id,
            wait: OldLeaseWait::for_session(opened, &server, before),
            server,
            admission,
            batch_statements,
            heartbeat_statements,
            key_statements,
            writer,
            writing: tokio::sync::Mutex::default(),
            freshness,
            reader,
            maintenance,
            heartbeat,
            heartbeat_wanted: Notify::new(),
            confirmed: watch::Sender::default(),
            limits,
            list_queries: ListQueries::default(),
            lease: Mutex::default(),
            ending: Ending::default(),
            outdated: Mutex::default(),
            url: url.clone(),
            target: target.clone(),
        });
        match with_time_limit(CONFIRM_LIMIT, beat(&session, replica, false)).await {
            Ok(confirmed) => replica.with_seen(|seen| opening.record(confirmed, seen)),
            Err(error) => {
                self.remove_row(&session.heartbeat).await;
                return Err(error.into());
            }
        }
        self.start_tasks(&session);
        Ok(session)
    }

    /// Removes this server's row after a failed attempt to open a session, because a command that
    /// finds the row waits for heartbeats, which this server does not send. Ignores errors: the
    /// command then waits longer.
    async fn remove_row(&self, heartbeat: &Connection) {
        let removal = deregister(&heartbeat.client, &self.replica);
        let _ = with_time_limit(CONFIRM_LIMIT, removal).await;
    }

    fn start_tasks(&self, session: &Arc<Session>) {
        let (silent_for, confirms_lists) = (self.silent_for, self.confirms_lists);
        let [answering, beating, tidying] = [(); 3].map(|()| Arc::clone(session));
        let [answers, beats] = [(); 2].map(|()| Arc::clone(&self.replica));
        tokio::spawn(async move {
            let answers = answer_list_queries(&answering, &answers, confirms_lists);
            answering.ending.guard("answers lists", answers).await
        });
        tokio::spawn(async move {
            beating.ending.guard("sends heartbeats", keep_beating(&beating, &beats)).await
        });
        tokio::spawn(async move {
            tidying.ending.guard("looks at the schema", tidy(&tidying, silent_for)).await
        });
    }
}

async fn open_other_connections(
    url: &PostgresUrl,
    target: &Target,
) -> Result<[Connection; 5], ConnectError> {
    let limits = url.limits();
    let open = |role: &'static Role| connect_to(url, target, role, CONNECT_LIMIT);
    let counting = connect_to(&limits, target, &LIMITER, CONNECT_LIMIT);
    let (freshness, reader, maintenance, heartbeat, limits) = tokio::join!(
        open(&FRESHNESS),
        open(&READER),
        open(&MAINTENANCE),
        open(&HEARTBEAT),
        counting,
    );
    Ok([freshness?, reader?, maintenance?, heartbeat?, limits?])
}

/// Fails if the database has another store than in the session before, because requests are counted
/// by account id, and an id means another account in another store.
fn require_one_store(id: &str, before: Option<&Session>) -> Result<(), StoreError> {
    match before {
        Some(before) if before.store_id != id => Err(StoreError::Refused(
            "the database holds another store than before; fix: restart the server, if it is to \
             serve that one"
                .to_string(),
        )),
        _ => Ok(()),
    }
}

/// Returns the current session. Fails if there is none.
pub fn current(sessions: &watch::Receiver<Current>) -> Result<Arc<Session>, StoreError> {
    sessions.borrow().clone().map_err(|why| unreachable_because(&*why))
}
