//! The rate limiter of several servers: requests that wait are counted in batches, on a
//! connection of the store's session. Strikes and bans, and addresses without a valid key, are in
//! this server's memory: a flood must not reach the database.

use super::admission::{MAX_ACCOUNTS, remove_expired, unavailable};
use crate::clock::{BootInstant, Now};
use crate::limits::{
    AccountWindows, BegunBans, Decision, InMemoryLimits, KeyedRequest, Limits, Timestamp,
};
use crate::log::ErrorChain;
use crate::store::postgres::error::engine;
use crate::store::postgres::session::opener::{Current, current};
use crate::store::postgres::session::{Session, gathered};
use crate::store::postgres::timeouts::{
    COUNT_FAILURE_LASTS, COUNT_LIMIT, COUNTS_UNDER_WAY, DECISION_LIMIT,
};
use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex as SyncMutex;
use slog::{Logger, info, warn};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout_at};
use tokio_postgres::Error;

/// How often expired rows are removed.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(60);

/// Counts in PostgreSQL.
pub struct PostgresLimits {
    waiting: mpsc::UnboundedSender<WaitingRequest>,
    sessions: watch::Receiver<Current>,
    shared: Arc<Shared>,
}

/// A request that waits, and where its decision goes.
struct WaitingRequest {
    request: KeyedRequest,
    deadline: Instant,
    /// When it was sent, on two clocks.
    now: Now,
    sent: BootInstant,
    key_id: Arc<str>,
    decided: oneshot::Sender<Decision>,
}

struct Shared {
    /// Strikes and bans, and addresses; no windows.
    memory: InMemoryLimits,
    /// When the last request was decided, in nanoseconds of monotonic time.
    decided_at: AtomicI64,
    /// When the last batch failed and why, if none has succeeded since.
    failure: SyncMutex<Option<(Instant, String)>>,
    log: Logger,
}

impl PostgresLimits {
    /// Counts through these sessions until it is dropped. Needs a tokio runtime around it.
    pub fn start(
        sessions: watch::Receiver<Current>,
        keyless_per_minute: u32,
        log: Logger,
    ) -> PostgresLimits {
        let memory = InMemoryLimits::new(keyless_per_minute, log.clone());
        let shared = Arc::new(Shared {
            memory,
            decided_at: AtomicI64::default(),
            failure: SyncMutex::default(),
            log,
        });
        let (waiting, queue) = mpsc::unbounded_channel();
        tokio::spawn(Arc::clone(&shared).keep_counting(sessions.clone(), Mutex::new(queue)));
        PostgresLimits { waiting, sessions, shared }
    }
}

type Queue = Mutex<mpsc::UnboundedReceiver<WaitingRequest>>;

impl Shared {
    /// Counts in one session after the other, until there are no more requests.
    async fn keep_counting(self: Arc<Self>, mut sessions: watch::Receiver<Current>, queue: Queue) {
        loop {
            let session = match sessions.wait_for(Result::is_ok).await.as_deref() {
                Ok(Ok(session)) => Arc::clone(session),
                _ => return,
            };
            let counts = async {
                tokio::select! {
                    _ = join_all((0..COUNTS_UNDER_WAY).map(|_| self.lane(&session, &queue))) => {}
                    () = self.keep_removing(&session) => {}
                }
            };
            tokio::select! {
                Some(()) = session.ending.guard("counts requests", counts) => return,
                _ = session.ending.ended() => {}
            }
            // Or it would be taken again.
            if sessions.wait_for(|now| !is(now, &session)).await.is_err() {
                return;
            }
        }
    }

    /// Counts one batch after the other, until there are no more requests.
    async fn lane(&self, session: &Session, queue: &Queue) {
        while let Some(batch) = next_batch(queue).await {
            self.count(session, batch).await;
        }
    }

    async fn count(&self, session: &Session, mut batch: Vec<WaitingRequest>) {
        let now = Instant::now();
        batch.retain(|waiting| waiting.deadline > now && !waiting.decided.is_closed());
        if batch.is_empty() {
            return;
        }
        let requests: Vec<KeyedRequest> = batch.iter().map(|waiting| waiting.request).collect();
        let counted = session.admission.run(&session.limits.client, &requests);
        let counted = self.answer(session, counted).await.unwrap_or_default();
        batch.into_iter().zip(counted).for_each(|(one, decision)| self.decide(one, decision));
    }

    /// The answer to what was sent; none if it failed. It may have been counted then, and is not
    /// sent again: requests are answered when their senders are dropped.
    async fn answer<T>(
        &self,
        session: &Session,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Option<T> {
        let counted = async { asked.await.map_err(engine("counted")) };
        let counted = session.answer(COUNT_LIMIT, counted).await;
        // A primary that was replaced answers too.
        match counted.and_then(|counted| session.require_lease().map(|()| counted)) {
            Ok(counted) => {
                if self.failure.lock().take().is_some() {
                    info!(self.log, "request counts available again");
                }
                Some(counted)
            }
            Err(error) => {
                self.failed(ErrorChain(&error).to_string());
                None
            }
        }
    }

    /// Answers a request. A refusal is a strike also if the client has gone away.
    fn decide(&self, waiting: WaitingRequest, decision: Decision) {
        let WaitingRequest { request, now, sent, key_id, decided, .. } = waiting;
        let now = now.after(BootInstant::now().since(sent));
        self.decided_at.fetch_max(Timestamp::from(now.monotonic).as_nanos(), Ordering::Relaxed);
        let _ = decided.send(self.memory.strike(&request, &key_id, decision, now));
    }

    /// The decision on a request that no count can change: it costs no round trip, and keeps no
    /// other request waiting.
    fn refusal(&self, request: &KeyedRequest, now: Now) -> Option<Decision> {
        // Its whole day is away, whatever was counted.
        if request.limits.per_day == 0 {
            return Some(AccountWindows::default().admit(Timestamp::default(), request.limits));
        }
        self.memory.banned(request, now)
    }

    /// Removes what has expired, from time to time.
    async fn keep_removing(&self, session: &Session) {
        loop {
            sleep(REMOVAL_INTERVAL).await;
            let decided_at = self.decided_at.load(Ordering::Relaxed);
            self.memory.remove_expired(Timestamp::from_nanos(decided_at));
            // What fails is tried again a minute later.
            while let Ok(true) = remove_expired(&session.limits.client).await {}
        }
    }

    fn failed(&self, why: String) {
        let mut failure = self.failure.lock();
        if failure.is_none() {
            warn!(self.log, "request counts unavailable"; "error" => &why,
                "effect" => "requests are refused");
        }
        *failure = Some((Instant::now(), why));
    }
}

fn is(now: &Current, session: &Arc<Session>) -> bool {
    now.as_ref().is_ok_and(|current| Arc::ptr_eq(current, session))
}

/// Those that wait, of a bounded number of accounts; `None` if there will be none.
async fn next_batch(queue: &Queue) -> Option<Vec<WaitingRequest>> {
    let mut queue = queue.lock().await;
    let mut batch = vec![queue.recv().await?];
    gathered(|| queue.len()).await;
    let mut accounts: HashSet<i64> = batch.iter().map(|one| one.request.account).collect();
    while accounts.len() < MAX_ACCOUNTS
        && let Ok(next) = queue.try_recv()
    {
        accounts.insert(next.request.account);
        batch.push(next);
    }
    Some(batch)
}

#[async_trait]
impl Limits for PostgresLimits {
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        deadline: Instant,
    ) -> Decision {
        // While there is no session, nothing waits for one.
        if current(&self.sessions).is_err() {
            return unavailable(&request);
        }
        if let Some(refusal) = self.shared.refusal(&request, now) {
            return refusal;
        }
        let deadline = deadline.min(Instant::now() + DECISION_LIMIT);
        let (decided, decision) = oneshot::channel();
        let (sent, key_id) = (BootInstant::now(), Arc::clone(key_id));
        let waiting = WaitingRequest { request, deadline, now, sent, key_id, decided };
        if self.waiting.send(waiting).is_ok()
            && let Ok(Ok(decision)) = timeout_at(deadline.into(), decision).await
        {
            return decision;
        }
        unavailable(&request)
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        self.shared.memory.admit_keyless(address, now).await
    }

    fn bans(&self) -> &BegunBans {
        self.shared.memory.bans()
    }

    fn unavailable_because(&self) -> Option<String> {
        let failure = self.shared.failure.lock();
        let lasts = failure.as_ref().filter(|(at, _)| at.elapsed() < COUNT_FAILURE_LASTS);
        lasts.map(|(_, why)| why.clone())
    }
}
