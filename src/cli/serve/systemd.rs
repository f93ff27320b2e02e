//! Tells systemd the server's state, if systemd started the server with `Type=notify`.

use crate::orders::RunningBatch;
use sd_notify::NotifyState;
use slog::{Logger, warn};
use std::time::Duration;

/// The time after which a batch of cancellations counts as hung. Writing to a local disk or waiting
/// for a lock takes less time.
const MAX_BATCH_DURATION: Duration = Duration::from_secs(30);

/// Sends a state to systemd. A failure is only logged, because the server can run without systemd.
pub fn notify(log: &Logger, state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!(log, "systemd not notified"; "error" => error.to_string());
    }
}

/// Notifies systemd's watchdog if the unit sets `WatchdogSec`. Stops while a batch of cancellations
/// hangs, so that systemd restarts the server.
pub async fn keep_watchdog(batch: RunningBatch, log: Logger) {
    let Some(timeout) = sd_notify::watchdog_enabled() else { return };
    let mut tick = tokio::time::interval(timeout / 2);
    let mut hangs = false;
    loop {
        tick.tick().await;
        let age = batch.age().filter(|age| *age > MAX_BATCH_DURATION);
        match age {
            None => notify(&log, NotifyState::Watchdog),
            Some(age) if !hangs => warn!(log, "watchdog withheld: a batch of cancellations hangs";
                "seconds" => age.as_secs(), "effect" => "systemd restarts the server"),
            Some(_) => {}
        }
        hangs = age.is_some();
    }
}
