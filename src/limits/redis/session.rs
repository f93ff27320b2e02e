//! One connection: requests that wait go out in batches, two of them under way at a time,
//! until one has no answer.

use super::admission::{AdmissionError, AdmissionScript, MAX_BATCH};
use super::lost_counts::LostCounts;
use crate::limits::{Decision, KeyedRequest};
use futures::future::select;
use redis::aio::MultiplexedConnection;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

/// How long nothing is sent, before an empty batch shows whether the connection works.
const IDLE_PROBE: Duration = Duration::from_millis(500);

/// A request that waits, and where its decision goes.
pub struct Waiting {
    /// What to admit.
    pub request: KeyedRequest,
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
    /// There will be no more requests.
    #[error("the server stops")]
    Stopped,
}

/// A connection with what runs on it.
pub struct Session<'a> {
    /// The connection.
    pub connection: MultiplexedConnection,
    /// What is sent.
    pub script: &'a AdmissionScript,
    /// What the answers are compared with.
    pub counts: &'a LostCounts,
}

impl Session<'_> {
    /// Admits nobody: shows whether Redis runs the script and takes writes.
    pub async fn probe(&self) -> Result<(), AdmissionError> {
        self.admit(Vec::new()).await
    }

    /// Admits those that wait until a batch fails. What was sent then is not sent again:
    /// it may have been counted.
    pub async fn serve(&self, queue: &Queue) -> Ended {
        let (one, other) = (pin!(self.lane(queue)), pin!(self.lane(queue)));
        let (Err(ended), _) = select(one, other).await.factor_first();
        ended
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
        let before = self.counts.seen();
        let mut connection = self.connection.clone();
        let answers = self.script.run(&mut connection, &requests).await?;
        self.counts.compare(before, &answers);
        for (waiting, decision) in batch.into_iter().zip(answers.decisions) {
            // Its client may have gone away.
            let _ = waiting.decided.send(decision);
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
