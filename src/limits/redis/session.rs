//! One connection: requests that wait go out in batches, two of them under way at a time,
//! until one has no answer.

use super::admission::{AdmissionError, MAX_BATCH};
use super::sentinel;
use super::server_facts::ServerFacts;
use super::shared::{Shared, WAIT_LIMIT};
use super::timeliness::Pace;
use crate::clock::Now;
use crate::config::{RedisNode, RedisPlace};
use crate::limits::{Decision, KeyedRequest};
use futures::future;
use redis::aio::MultiplexedConnection;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{sleep, timeout};

/// How long nothing is sent, before an empty batch shows whether the connection works.
const IDLE_PROBE: Duration = Duration::from_millis(500);

/// How often the primary, and Sentinel, are asked whether it still is one.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// A request that waits, and where its decision goes.
pub struct Waiting {
    /// What to admit.
    pub request: KeyedRequest,
    /// When it arrived.
    pub now: Now,
    /// The id of its key, for the log.
    pub key_id: Option<Arc<str>>,
    /// Closed if nobody waits for it any longer.
    pub decided: oneshot::Sender<Decision>,
}

/// The requests that wait.
pub type Queue = Mutex<mpsc::UnboundedReceiver<Waiting>>;

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// A batch has no answer.
    #[error(transparent)]
    Failed(#[from] AdmissionError),
    /// It was made a replica.
    #[error("{0} was made a replica")]
    Demoted(RedisNode),
    /// It answers every batch, and yet most requests too late.
    #[error("Redis is slow: most requests were not decided within {} ms", WAIT_LIMIT.as_millis())]
    Slow,
    /// Sentinel names another primary.
    #[error("Sentinel names another primary: {0}")]
    Replaced(RedisNode),
    /// There will be no more requests.
    #[error("the server stops")]
    Stopped,
}

/// A connection with what runs on it.
pub struct Session<'a> {
    /// The connection.
    pub connection: MultiplexedConnection,
    /// Where it leads.
    pub node: RedisNode,
    /// What is shared with the requests.
    pub shared: &'a Shared,
}

impl Session<'_> {
    /// Admits nobody: shows whether Redis runs the script and takes writes.
    pub async fn probe(&self) -> Result<(), AdmissionError> {
        self.admit(Vec::new()).await
    }

    /// Admits those that wait until a batch fails. What was sent then is not sent again:
    /// it may have been counted.
    pub async fn serve(&self, queue: &Queue) -> Ended {
        let lanes = future::try_join3(self.lane(queue), self.lane(queue), self.watch());
        let Err(ended) = lanes.await;
        ended
    }

    /// Looks at the primary from time to time: it may have been replaced while it still
    /// answers, and then others would count the same requests elsewhere; or be too slow.
    async fn watch(&self) -> Result<Infallible, Ended> {
        self.shared.timeliness.reset();
        loop {
            sleep(WATCH_INTERVAL).await;
            match (self.shared.timeliness.look(), &self.shared.local) {
                (Pace::Slow, _) => return Err(Ended::Slow),
                // Those that were late before were counted here.
                (Pace::InTime, Some(local)) => local.forget(),
                (Pace::InTime | Pace::Unsteady, _) => {}
            }
            let mut replication = redis::cmd("INFO");
            replication.arg("replication");
            let info = replication.query_async::<String>(&mut self.connection.clone()).await;
            let facts = ServerFacts::read(&info.map_err(AdmissionError::from)?);
            if facts.is_replica() {
                return Err(Ended::Demoted(self.node.clone()));
            }
            self.shared.counts.compare_histories(facts);
            let url = &self.shared.url;
            if let RedisPlace::Sentinels { nodes, service } = url.place()
                && let Ok(node) = sentinel::primary(url, nodes, service).await
                && node != self.node
            {
                return Err(Ended::Replaced(node));
            }
        }
    }

    /// Has one batch under way at a time.
    async fn lane(&self, queue: &Queue) -> Result<Infallible, Ended> {
        loop {
            let batch = next_batch(queue).await?;
            self.admit(batch).await?;
        }
    }

    async fn admit(&self, batch: Vec<Waiting>) -> Result<(), AdmissionError> {
        let requests: Vec<KeyedRequest> = batch.iter().map(|waiting| waiting.request).collect();
        let before = self.shared.counts.seen();
        let mut connection = self.connection.clone();
        let answers = self.shared.script.run(&mut connection, &requests).await?;
        self.shared.counts.compare(before, &answers);
        for (waiting, decision) in batch.into_iter().zip(answers.decisions) {
            let Waiting { request, now, key_id, decided } = waiting;
            self.shared.note_ban(&request, key_id.as_deref(), now, decision);
            // Its client may have gone away.
            let _ = decided.send(decision);
        }
        Ok(())
    }
}

/// Those that wait, without those that have given up; nobody if none came for a while.
async fn next_batch(queue: &Queue) -> Result<Vec<Waiting>, Ended> {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut queue = queue.lock().await;
    match timeout(IDLE_PROBE, queue.recv_many(&mut batch, MAX_BATCH)).await {
        Ok(0) => return Err(Ended::Stopped),
        Ok(_) => batch.retain(|waiting| !waiting.decided.is_closed()),
        Err(_) => {}
    }
    Ok(batch)
}
