//! The rate limiter of several servers: requests that wait are counted in batches, on a
//! connection of the store's session. Addresses without a valid key are counted in this server's
//! memory: a flood must not reach the database.

use super::admission::{MAX_KEYS, banned, is_final, remove_expired, unavailable};
use crate::clock::{BootInstant, Now};
use crate::counter::Counter;
use crate::limits::{
    AccountWindows, Decision, InMemoryLimits, KeyedRequest, Limits, Timestamp, log_ban,
};
use crate::log::ErrorChain;
use crate::store::postgres::error::engine;
use crate::store::postgres::session::opener::{Current, current};
use crate::store::postgres::session::{Session, gathered};
use crate::store::postgres::timeouts::{
    COUNT_FAILURE_LASTS, COUNT_LIMIT, COUNTS_UNDER_WAY, DECISION_LIMIT,
};
use async_trait::async_trait;
use futures::future::{join, join_all};
use parking_lot::Mutex as SyncMutex;
use slog::{Logger, info, warn};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout_at};
use tokio_postgres::Error;

/// How often expired rows are removed.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(60);

/// Counts in PostgreSQL.
pub struct PostgresLimits {
    waiting: mpsc::UnboundedSender<Waiting>,
    sessions: watch::Receiver<Current>,
    shared: Arc<Shared>,
    addresses: InMemoryLimits,
}

/// A request that waits, and where its decision goes.
struct Waiting {
    request: KeyedRequest,
    deadline: Instant,
    /// For the log.
    now: Now,
    sent: BootInstant,
    key_id: Arc<str>,
    decided: oneshot::Sender<Decision>,
}

/// Requests of a batch on which counting alone does not decide, and what it said of them.
type Unsettled = Vec<(Waiting, Option<Decision>)>;

struct Shared {
    bans: Counter,
    /// When the last batch failed and why, if none has succeeded since.
    failure: SyncMutex<Option<(Instant, String)>>,
    /// The bans that the session has told of, by key.
    known_bans: SyncMutex<HashMap<i64, KnownBan>>,
    log: Logger,
}

struct KnownBan {
    until: BootInstant,
    /// That of the request that was told.
    unbanned_at_ms: i64,
}

impl PostgresLimits {
    /// Counts through these sessions until it is dropped. Needs a tokio runtime around it.
    pub fn start(
        sessions: watch::Receiver<Current>,
        keyless_per_minute: u32,
        log: Logger,
    ) -> PostgresLimits {
        let addresses = InMemoryLimits::new(keyless_per_minute, log.clone());
        let (bans, failure, known_bans) = Default::default();
        let shared = Arc::new(Shared { bans, failure, known_bans, log });
        let (waiting, queue) = mpsc::unbounded_channel();
        tokio::spawn(Arc::clone(&shared).keep_counting(sessions.clone(), Mutex::new(queue)));
        PostgresLimits { waiting, sessions, shared, addresses }
    }
}

type Queue = Mutex<mpsc::UnboundedReceiver<Waiting>>;

impl Shared {
    /// Counts in one session after the other, until there are no more requests.
    async fn keep_counting(self: Arc<Self>, mut sessions: watch::Receiver<Current>, queue: Queue) {
        loop {
            let session = match sessions.wait_for(Result::is_ok).await.as_deref() {
                Ok(Ok(session)) => Arc::clone(session),
                _ => return,
            };
            // A failover may forget a ban, and sets the clock by which it ends.
            self.known_bans.lock().clear();
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

    /// Counts one batch after the other, until there are no more requests. Meanwhile it settles
    /// what the batch before has left: bans and refusals keep no other request waiting.
    async fn lane(&self, session: &Session, queue: &Queue) {
        let mut unsettled = Some(Unsettled::new());
        while let Some(left) = unsettled {
            let count_next = async { Some(self.count(session, next_batch(queue).await?).await) };
            (unsettled, ()) = join(count_next, self.settle(session, left)).await;
        }
    }

    async fn count(&self, session: &Session, mut batch: Vec<Waiting>) -> Unsettled {
        let now = Instant::now();
        batch.retain(|waiting| waiting.deadline > now && !waiting.decided.is_closed());
        if batch.is_empty() {
            return Unsettled::new();
        }
        let requests: Vec<KeyedRequest> = batch.iter().map(|waiting| waiting.request).collect();
        let counted = session.admission.count(&session.limits.client, &requests);
        let counted = self.answer(session, counted).await.unwrap_or_default();
        let mut unsettled = Unsettled::new();
        for (waiting, decision) in batch.into_iter().zip(counted) {
            match decision {
                Some(decision) if is_final(&waiting.request, &decision) => {
                    self.decide(waiting, decision);
                }
                _ => unsettled.push((waiting, decision)),
            }
        }
        unsettled
    }

    async fn settle(&self, session: &Session, unsettled: Unsettled) {
        if unsettled.is_empty() {
            return;
        }
        let (waiting, counted): (Vec<Waiting>, Vec<_>) = unsettled.into_iter().unzip();
        let requests: Vec<KeyedRequest> = waiting.iter().map(|waiting| waiting.request).collect();
        let settled = session.admission.settle(&session.limits.client, &requests, counted);
        let settled = self.answer(session, settled).await.unwrap_or_default();
        waiting.into_iter().zip(settled).for_each(|(one, decision)| self.decide(one, decision));
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

    fn decide(&self, waiting: Waiting, decision: Decision) {
        let Waiting { request, now, sent, key_id, decided, .. } = waiting;
        if let Decision::Banned { status, begins } = decision {
            let answered = BootInstant::now();
            // As the client counts it: one that waits until then is asked about once more.
            let (until, unbanned_at_ms) = (answered + status.resets_in, request.unbanned_at_ms);
            self.known_bans.lock().insert(request.key, KnownBan { until, unbanned_at_ms });
            // Logged here, because the client may have gone away.
            if begins {
                self.bans.inc();
                let now = now.after(answered.since(sent));
                log_ban(&self.log, &request, &key_id, status, now);
            }
        }
        let _ = decided.send(decision);
    }

    /// The decision on a request that no count can change: it costs no round trip, and keeps no
    /// other request waiting.
    fn refusal(&self, request: &KeyedRequest) -> Option<Decision> {
        // Its whole day is away, whatever was counted.
        if request.limits.per_day == 0 {
            return Some(AccountWindows::default().admit(Timestamp::default(), request.limits));
        }
        let known_bans = self.known_bans.lock();
        let ban = known_bans.get(&request.key).filter(|_| !request.is_shut())?;
        let ends_in = ban.until.since(BootInstant::now());
        let is_banned = !ends_in.is_zero() && ban.unbanned_at_ms >= request.unbanned_at_ms;
        is_banned.then(|| banned(request, ends_in, false))
    }

    /// Removes what has expired, from time to time.
    async fn keep_removing(&self, session: &Session) {
        loop {
            sleep(REMOVAL_INTERVAL).await;
            let now = BootInstant::now();
            self.known_bans.lock().retain(|_, ban| now < ban.until);
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

/// Those that wait, of a bounded number of keys; `None` if there will be none.
async fn next_batch(queue: &Queue) -> Option<Vec<Waiting>> {
    let mut queue = queue.lock().await;
    let mut batch = vec![queue.recv().await?];
    gathered(|| queue.len()).await;
    let mut keys: HashSet<i64> = batch.iter().map(|waiting| waiting.request.key).collect();
    while keys.len() < MAX_KEYS
        && let Ok(next) = queue.try_recv()
    {
        keys.insert(next.request.key);
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
        if let Some(refusal) = self.shared.refusal(&request) {
            return refusal;
        }
        let deadline = deadline.min(Instant::now() + DECISION_LIMIT);
        let (decided, decision) = oneshot::channel();
        let (sent, key_id) = (BootInstant::now(), Arc::clone(key_id));
        let waiting = Waiting { request, deadline, now, sent, key_id, decided };
        if self.waiting.send(waiting).is_ok()
            && let Ok(Ok(decision)) = timeout_at(deadline.into(), decision).await
        {
            return decision;
        }
        unavailable(&request)
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        self.addresses.admit_keyless(address, now).await
    }

    fn bans(&self) -> &Counter {
        &self.shared.bans
    }

    fn unavailable_because(&self) -> Option<String> {
        let failure = self.shared.failure.lock();
        let lasts = failure.as_ref().filter(|(at, _)| at.elapsed() < COUNT_FAILURE_LASTS);
        lasts.map(|(_, why)| why.clone())
    }
}
