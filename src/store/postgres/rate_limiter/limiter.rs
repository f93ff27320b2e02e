//! The rate limiter that several servers share. PostgreSQL counts requests with a valid key, in
//! batches. Each server counts strikes and requests without a valid key in memory. Servers share
//! bans through the rows of keys.

use super::admission::{MAX_ACCOUNTS, unavailable};
use crate::clock::{BootInstant, Now, Timestamp};
use crate::log::ErrorChain;
use crate::rate_limiter::{
    AccountWindows, BegunBans, Decision, InMemoryRateLimiter, KeyedRequest, RateLimitStatus,
    RateLimiter,
};
use crate::store::postgres::gathering::gather_requests;
use crate::store::postgres::session::Session;
use crate::store::postgres::session::opener::{Current, current};
use crate::store::postgres::timeouts::{CONCURRENT_COUNTS, COUNT_FAILURE_DURATION, DECISION_LIMIT};
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

const REMOVAL_INTERVAL: Duration = Duration::from_secs(60);

pub struct PostgresRateLimiter {
    waiting: mpsc::UnboundedSender<WaitingRequest>,
    sessions: watch::Receiver<Current>,
    shared: Arc<Shared>,
}

struct WaitingRequest {
    request: KeyedRequest,
    deadline: Instant,
    now: Now,
    sent: BootInstant,
    key_id: Arc<str>,
    decision: oneshot::Sender<Decision>,
}

struct Shared {
    /// Keeps strikes and bans, and counts requests without a valid key. The windows of accounts are
    /// in PostgreSQL.
    memory: InMemoryRateLimiter,
    /// Monotonic time of the last decision, in nanoseconds.
    decided_at: AtomicI64,
    /// Time and error of the last failed batch, unless a later batch succeeded.
    failure: SyncMutex<Option<(Instant, String)>>,
    log: Logger,
}

impl PostgresRateLimiter {
    /// Starts a task that counts requests until the limiter is dropped. Must be called within a
    /// tokio runtime.
    pub fn start(
        sessions: watch::Receiver<Current>,
        unauthenticated_per_minute: u32,
        log: Logger,
    ) -> PostgresRateLimiter {
        let memory = InMemoryRateLimiter::new(unauthenticated_per_minute, log.clone());
        let shared = Arc::new(Shared {
            memory,
            decided_at: AtomicI64::default(),
            failure: SyncMutex::default(),
            log,
        });
        let (waiting, queue) = mpsc::unbounded_channel();
        tokio::spawn(Arc::clone(&shared).keep_counting(sessions.clone(), Mutex::new(queue)));
        PostgresRateLimiter { waiting, sessions, shared }
    }
}

type Queue = Mutex<mpsc::UnboundedReceiver<WaitingRequest>>;

impl Shared {
    /// Counts requests in the current session and in later sessions. Returns when the queue is
    /// closed or no session can follow.
    async fn keep_counting(self: Arc<Self>, mut sessions: watch::Receiver<Current>, queue: Queue) {
        loop {
            let session = match sessions.wait_for(Result::is_ok).await.as_deref() {
                Ok(Ok(session)) => Arc::clone(session),
                _ => return,
            };
            let counts = async {
                let lanes = (0..CONCURRENT_COUNTS).map(|_| self.count_batches(&session, &queue));
                tokio::select! {
                    _ = join_all(lanes) => {}
                    () = self.keep_removing(&session) => {}
                }
            };
            tokio::select! {
                Some(()) = session.state.guard("counts requests", counts) => return,
                _ = session.state.ended() => {}
            }
            // Wait for another session, because `sessions` may still contain the session that
            // ended.
            if sessions.wait_for(|now| !is_session(now, &session)).await.is_err() {
                return;
            }
        }
    }

    async fn count_batches(&self, session: &Session, queue: &Queue) {
        while let Some(batch) = next_batch(queue).await {
            self.count(session, batch).await;
        }
    }

    async fn count(&self, session: &Session, mut batch: Vec<WaitingRequest>) {
        let now = Instant::now();
        batch.retain(|waiting| waiting.deadline > now && !waiting.decision.is_closed());
        if batch.is_empty() {
            return;
        }
        let requests: Vec<KeyedRequest> = batch.iter().map(|waiting| waiting.request).collect();
        let counted = match session.counter.count(&requests).await {
            Ok(counted) => counted,
            // Returning drops the batch, so its requests get a 503.
            Err(error) => return self.record_failure(ErrorChain(&error).to_string()),
        };
        if self.failure.lock().take().is_some() {
            info!(self.log, "request counts available again");
        }
        batch
            .into_iter()
            .zip(counted)
            .for_each(|(waiting, decision)| self.decide(waiting, decision));
    }

    /// Sends the decision to the waiting request. A refusal can count as a strike even if the
    /// client has disconnected.
    fn decide(&self, waiting: WaitingRequest, decision: Decision) {
        let WaitingRequest { request, now, sent, key_id, decision: sender, .. } = waiting;
        let now = now.after(BootInstant::now().since(sent));
        self.decided_at.fetch_max(Timestamp::from(now.monotonic).as_nanos(), Ordering::Relaxed);
        let _ = sender.send(self.memory.strike(&request, &key_id, decision, now));
    }

    /// Returns a refusal that does not depend on the account's counts. Such a refusal saves a round
    /// trip to PostgreSQL.
    fn refusal(&self, request: &KeyedRequest, now: Now) -> Option<Decision> {
        // A daily limit of 0 refuses every request, with a reset a day away, whatever the counts
        // are. With a limit of 0 per minute, the reset can depend on the day's count.
        if request.limits.per_day == 0 {
            return Some(AccountWindows::default().admit(Timestamp::default(), request.limits));
        }
        self.memory.apply_and_check_ban(request, now)
    }

    /// Removes expired strikes from memory, and expired counts from the database. Neither affects a
    /// decision any more, but both take up space.
    async fn keep_removing(&self, session: &Session) {
        loop {
            sleep(REMOVAL_INTERVAL).await;
            let decided_at = self.decided_at.load(Ordering::Relaxed);
            self.memory.remove_expired_strikes(Timestamp::from_nanos(decided_at));
            session.counter.remove_expired().await;
        }
    }

    fn record_failure(&self, why: String) {
        let mut failure = self.failure.lock();
        if failure.is_none() {
            warn!(self.log, "request counts unavailable"; "error" => &why,
                "effect" => "requests are refused");
        }
        *failure = Some((Instant::now(), why));
    }
}

fn is_session(current: &Current, session: &Arc<Session>) -> bool {
    current.as_ref().is_ok_and(|current| Arc::ptr_eq(current, session))
}

async fn next_batch(queue: &Queue) -> Option<Vec<WaitingRequest>> {
    let mut queue = queue.lock().await;
    let mut batch = vec![queue.recv().await?];
    gather_requests(|| queue.len()).await;
    let mut accounts: HashSet<i64> = batch.iter().map(|waiting| waiting.request.account).collect();
    while accounts.len() < MAX_ACCOUNTS
        && let Ok(next) = queue.try_recv()
    {
        accounts.insert(next.request.account);
        batch.push(next);
    }
    Some(batch)
}

#[async_trait]
impl RateLimiter for PostgresRateLimiter {
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        deadline: Instant,
    ) -> Decision {
        if current(&self.sessions).is_err() {
            return unavailable(&request);
        }
        if let Some(refusal) = self.shared.refusal(&request, now) {
            return refusal;
        }
        let deadline = deadline.min(Instant::now() + DECISION_LIMIT);
        let (decision, receiver) = oneshot::channel();
        let (sent, key_id) = (BootInstant::now(), Arc::clone(key_id));
        let waiting = WaitingRequest { request, deadline, now, sent, key_id, decision };
        if self.waiting.send(waiting).is_ok()
            && let Ok(Ok(decision)) = timeout_at(deadline.into(), receiver).await
        {
            return decision;
        }
        unavailable(&request)
    }

    async fn admit_unauthenticated(&self, address: IpAddr, now: Now) -> Decision {
        self.shared.memory.admit_unauthenticated(address, now).await
    }

    fn unauthenticated_status(&self, address: IpAddr, now: Now) -> RateLimitStatus {
        self.shared.memory.unauthenticated_status(address, now)
    }

    fn bans(&self) -> &BegunBans {
        self.shared.memory.bans()
    }

    fn unavailable_because(&self) -> Option<String> {
        let failure = self.shared.failure.lock();
        let recent = failure.as_ref().filter(|(time, _)| time.elapsed() < COUNT_FAILURE_DURATION);
        recent.map(|(_, why)| why.clone())
    }
}
