//! Clients that cancel one order after another.

use anyhow::Context;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, StatusCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testbed::Key;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// A cancellation as a client saw it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub order: i64,
    /// `None` if the connection ended without an answer.
    pub status: Option<StatusCode>,
    /// Whether the answer says when to try again.
    pub has_retry_after: bool,
    pub took: Duration,
}

/// Cancels an order.
pub async fn cancel(http: &Client, base: &str, key: &Key, order: i64) -> Seen {
    let began = Instant::now();
    let request = http.delete(format!("{base}/store/orders/{order}")).bearer_auth(&key.text);
    let answer = request.send().await.ok();
    let status = answer.as_ref().map(reqwest::Response::status);
    let has_retry_after = answer.is_some_and(|answer| answer.headers().contains_key(RETRY_AFTER));
    Seen { order, status, has_retry_after, took: began.elapsed() }
}

/// Several clients that cancel the orders 1, 2, 3 … until they are stopped, or none is left.
pub struct Cancelling {
    clients: JoinSet<()>,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Cancelling {
    /// Starts this many; the next order is theirs up to the last.
    pub fn start(
        clients: usize,
        base: &str,
        key: &Key,
        next: &Arc<AtomicI64>,
        last: i64,
    ) -> Cancelling {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut set = JoinSet::new();
        for _ in 0..clients {
            let (stop, done, seen) = (Arc::clone(&stop), Arc::clone(&done), Arc::clone(&seen));
            let (base, key, next) = (base.to_string(), key.clone(), Arc::clone(next));
            set.spawn(async move {
                let http = Client::new();
                while !stop.load(Ordering::Relaxed) {
                    let order = next.fetch_add(1, Ordering::Relaxed);
                    if order > last {
                        break;
                    }
                    let answer = cancel(&http, &base, &key, order).await;
                    done.fetch_add(1, Ordering::Relaxed);
                    seen.lock().await.push(answer);
                }
            });
        }
        Cancelling { clients: set, stop, done, seen }
    }

    /// How many cancellations have been answered.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Waits for the last answers, and returns all.
    pub async fn stop(mut self) -> anyhow::Result<Vec<Seen>> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended.context("a client panicked")?;
        }
        Ok(std::mem::take(&mut *self.seen.lock().await))
    }
}
