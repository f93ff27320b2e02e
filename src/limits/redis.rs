//! The rate limiter of several servers: windows, strikes and bans in Redis, where one script
//! counts the requests that wait in one atomic step. Addresses without a valid key are
//! counted in this server's memory: a flood must not reach Redis.
//!
//! A request that cannot be counted within [`ANSWER_LIMIT`] is answered
//! [`Decision::Unavailable`]; while Redis is lost, at once. If the operator chose so, this
//! server counts it alone instead.

mod admission;
mod connecting;
mod local_counts;
mod lost_counts;
mod names;
mod outage;
mod primary;
mod report;
mod sentinel;
mod server_facts;
mod session;
mod shared;
mod start_warnings;
mod timeliness;

pub use admission::{AdmissionError, AdmissionScript, Answers, Epoch, MAX_BATCH};
pub use connecting::{ANSWER_LIMIT, ConnectError};
pub use report::RedisLimitsReport;

use super::in_memory::InMemoryLimits;
use super::{Decision, KeyedRequest, Limits, RateLimitStatus};
use crate::clock::Now;
use crate::config::{LimitsLost, RedisUrl};
use crate::log::ErrorChain;
use async_trait::async_trait;
use primary::{Connected, connect};
use prometheus_client::metrics::counter::Counter;
use session::{Ended, Queue, Session, Waiting};
use shared::{Shared, WAIT_LIMIT};
use slog::{Logger, info};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{sleep, timeout};

/// After an outage for slowness, how often in a row an empty batch must be answered, and how
/// fast. At this length of a round trip half of the requests can be late: one waits for up to
/// a round trip that is under way, and then for its own.
const FAST_ANSWERS: usize = 3;
const FAST_ANSWER_LIMIT: Duration = Duration::from_millis(160);

/// How long to wait after a failed attempt to reach Redis: at first, and at most.
const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_millis(400);

/// Counts in Redis.
#[derive(Debug)]
pub struct RedisLimits {
    waiting: mpsc::UnboundedSender<Waiting>,
    shared: Arc<Shared>,
    addresses: InMemoryLimits,
}

impl RedisLimits {
    /// Connects, and from then on keeps connected until this is dropped. Needs a tokio
    /// runtime around it. Fails if Redis cannot be reached, unless this server may count
    /// alone; a Redis that no time will make fit is always an error.
    pub async fn open(
        url: RedisUrl,
        lost: LimitsLost,
        store_id: &str,
        keyless_per_minute: u32,
        log: Logger,
    ) -> Result<RedisLimits, ConnectError> {
        let shared = Arc::new(Shared::new(url, lost, store_id, log));
        let first = match shared.connect().await {
            Err(error) if error.may_pass() && shared.local.is_some() => {
                shared.begin_outage(ErrorChain(&error).to_string());
                None
            }
            first => Some(first?),
        };
        let (waiting, queue) = mpsc::unbounded_channel();
        tokio::spawn(Arc::clone(&shared).keep_serving(first, Mutex::new(queue)));
        let addresses = InMemoryLimits::new(keyless_per_minute);
        Ok(RedisLimits { waiting, shared, addresses })
    }

    /// The decision of Redis; `None` if it has none in time.
    async fn decide(
        &self,
        request: KeyedRequest,
        key_id: Option<Arc<str>>,
        now: Now,
    ) -> Option<Decision> {
        if self.shared.outage.is_under_way() {
            return None;
        }
        let (decided, decision) = oneshot::channel();
        self.waiting.send(Waiting { request, now, key_id, decided }).ok()?;
        let decision = timeout(WAIT_LIMIT, decision).await;
        self.shared.timeliness.note(decision.is_ok());
        decision.ok()?.ok()
    }

    /// The decision of Redis, or what takes its place.
    async fn decide_anyway(
        &self,
        request: KeyedRequest,
        key_id: Option<Arc<str>>,
        now: Now,
    ) -> Decision {
        match (self.decide(request, key_id, now).await, &self.shared.local) {
            (Some(decision), _) => decision,
            (None, Some(local)) => local.admit(request, now),
            (None, None) => {
                let (limit, outage) = (request.limits.per_minute, &self.shared.outage);
                let resets_in = outage.retry_after();
                Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in })
            }
        }
    }
}

impl Shared {
    async fn connect(&self) -> Result<Connected, ConnectError> {
        let connected = connect(&self.url).await?;
        self.warnings.log(&connected.node, connected.facts.warnings(), &self.log);
        Ok(connected)
    }

    fn session(&self, Connected { connection, node, facts }: Connected) -> Session<'_> {
        self.counts.compare_histories(facts);
        Session { connection, node, shared: self }
    }

    async fn keep_serving(self: Arc<Self>, first: Option<Connected>, queue: Queue) {
        let mut must_be_fast = false;
        if let Some(first) = first {
            let Some(ended) = self.serve(self.session(first), &queue).await else { return };
            must_be_fast = matches!(ended, Ended::Slow);
        }
        while let Some(session) = self.reconnect(&queue, must_be_fast).await {
            info!(self.log, "request counts available again"; "redis" => %session.node);
            self.outage.end();
            if let Some(local) = &self.local {
                local.forget();
            }
            let Some(ended) = self.serve(session, &queue).await else { return };
            must_be_fast = matches!(ended, Ended::Slow);
        }
    }

    /// Serves until Redis is lost, and says why; `None` if the server stops.
    async fn serve(&self, session: Session<'_>, queue: &Queue) -> Option<Ended> {
        match session.serve(queue).await {
            Ended::Stopped => None,
            ended => {
                self.begin_outage(ErrorChain(&ended).to_string());
                Some(ended)
            }
        }
    }

    /// Tries until Redis runs the script again; `None` if the server stops.
    async fn reconnect(&self, queue: &Queue, must_be_fast: bool) -> Option<Session<'_>> {
        let mut back_off = FIRST_BACK_OFF;
        loop {
            // Those that came before the outage was known are refused at once.
            let mut waiting = queue.lock().await;
            while waiting.try_recv().is_ok() {}
            if waiting.is_closed() {
                return None;
            }
            drop(waiting);
            sleep(back_off).await;
            back_off = (back_off * 2).min(LONGEST_BACK_OFF);
            match self.attempt(must_be_fast).await {
                Ok(session) => return Some(session),
                Err(why) => self.outage.begin(why),
            }
        }
    }

    async fn attempt(&self, must_be_fast: bool) -> Result<Session<'_>, String> {
        let connected = self.connect().await.map_err(|error| ErrorChain(&error).to_string())?;
        let session = self.session(connected);
        for _ in 0..if must_be_fast { FAST_ANSWERS } else { 1 } {
            let sent = Instant::now();
            session.probe().await.map_err(|error| ErrorChain(&error).to_string())?;
            let (took, limit) = (sent.elapsed().as_millis(), FAST_ANSWER_LIMIT.as_millis());
            if must_be_fast && took > limit {
                return Err(format!("Redis is slow: it answers after {took} ms, not {limit} ms"));
            }
        }
        Ok(session)
    }
}

#[async_trait]
impl Limits for RedisLimits {
    async fn admit(&self, request: KeyedRequest, now: Now) -> Decision {
        self.decide_anyway(request, None, now).await
    }

    async fn admit_logged(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        _: &Logger,
    ) -> Decision {
        self.decide_anyway(request, Some(Arc::clone(key_id)), now).await
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        self.addresses.admit_keyless(address, now).await
    }

    fn bans(&self) -> &Counter {
        &self.shared.bans
    }

    fn times_lost(&self) -> Counter {
        self.shared.counts.times().clone()
    }

    fn decided_alone(&self) -> Counter {
        self.shared.local.as_ref().map(|local| local.requests().clone()).unwrap_or_default()
    }

    fn are_reachable(&self) -> Option<bool> {
        Some(!self.shared.outage.is_under_way())
    }

    fn unavailable_because(&self) -> Option<String> {
        self.shared.outage.why().filter(|_| self.shared.local.is_none())
    }

    fn alone_because(&self) -> Option<String> {
        self.shared.outage.why().filter(|_| self.shared.local.is_some())
    }
}
