//! Writes bans to the store, so that every server refuses the banned keys, even after a restart.

use crate::log::ErrorChain;
use crate::rate_limiter::NewBan;
use crate::store::Store;
use futures::FutureExt;
use slog::{Logger, warn};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until};

/// The maximum number of bans that one change of the store records.
const MAX_BATCH: usize = 100;

/// The number of attempts to store a batch of bans. The pauses between the attempts take 18 s, so
/// that the last attempts come after a failover.
const ATTEMPTS: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// What happens if a ban cannot be stored. Warnings in the log contain this text.
const EFFECT: &str = "other servers admit the keys, and this one does after a restart";

pub struct BanRecorder {
    task: JoinHandle<()>,
    deadline: oneshot::Sender<Instant>,
}

impl BanRecorder {
    /// Starts a task that writes the bans from `new_bans` to the store. The task ends when the
    /// channel is closed, or at the deadline of [`BanRecorder::finish`]. Call this function inside
    /// a runtime.
    pub fn start(
        store: Arc<dyn Store>,
        mut new_bans: UnboundedReceiver<NewBan>,
        log: Logger,
    ) -> BanRecorder {
        let (deadline, stops_at) = oneshot::channel::<Instant>();
        let deadline_passed = async {
            match stops_at.await {
                Ok(deadline) => sleep_until(deadline.into()).await,
                Err(_) => pending().await,
            }
        };
        let task = tokio::spawn(async move {
            let mut bans = Vec::new();
            tokio::select! {
                biased;
                () = write_bans(&*store, &mut new_bans, &mut bans, &log) => {}
                () = deadline_passed => {
                    warn!(log, "last bans not stored"; "bans" => bans.len() + new_bans.len(),
                        "error" => "the store did not write them before the server stopped",
                        "effect" => EFFECT);
                }
            }
        });
        BanRecorder { task, deadline }
    }

    /// Waits until the task has handled all bans, at most until the deadline. At the deadline, the
    /// task logs the number of unwritten bans. Drop the sender of new bans first, because otherwise
    /// the wait lasts until the deadline.
    pub async fn finish(self, deadline: Instant) {
        // Sending fails only if the task has already ended.
        let _ = self.deadline.send(deadline);
        // The only possible error is a panic, which the panic hook logs.
        let _ = self.task.await;
    }
}

/// Writes received bans until the channel is closed. `bans` holds the current batch, so that a
/// caller that drops the future can count the unwritten bans.
async fn write_bans(
    store: &dyn Store,
    new_bans: &mut UnboundedReceiver<NewBan>,
    bans: &mut Vec<NewBan>,
    log: &Logger,
) {
    while new_bans.recv_many(bans, MAX_BATCH).await > 0 {
        for attempt in 1..=ATTEMPTS {
            // If `record_bans` panics, only this attempt fails.
            let result = AssertUnwindSafe(store.record_bans(bans.clone())).catch_unwind().await;
            let error = match result {
                Ok(Ok(())) => break,
                Ok(Err(error)) => ErrorChain(&error).to_string(),
                Err(_) => "the store panicked".to_string(),
            };
            warn!(log, "bans not stored"; "error" => error, "bans" => bans.len(),
                "attempt" => format!("{attempt} of {ATTEMPTS}"), "effect" => EFFECT);
            if attempt < ATTEMPTS {
                sleep(RETRY_PAUSE).await;
            }
        }
        bans.clear();
    }
}
