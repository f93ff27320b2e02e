//! Notifies systemd, if it started the server with `Type=notify`.

use crate::orders::RunningBatch;
use sd_notify::NotifyState;
use slog::{Logger, warn};
use std::time::Duration;

/// After this time, a running batch of cancellations counts as hung. Neither a local disk nor a
/// lock takes that long.
const MAX_BATCH_DURATION: Duration = Duration::from_secs(30);

/// Sends a state to systemd. A failure is only logged, because the server can run without systemd.
pub fn notify(log: &Logger, state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!(log, "systemd not notified"; "error" => error.to_string());
    }
}

/// If the unit sets `WatchdogSec`, notifies systemd at intervals of half that time. Sends nothing
/// while a batch hangs, so that systemd restarts the server.
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
