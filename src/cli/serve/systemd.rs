//! What systemd is told of a server that it started with `Type=notify`, and nothing
//! where it did not.

use crate::orders::RunningBatch;
use sd_notify::NotifyState;
use slog::{Logger, warn};
use std::time::Duration;

/// A batch of cancellations that takes longer than this on a local disk will not end.
/// No wait for a lock is that long.
const LONGEST_BATCH: Duration = Duration::from_secs(30);

/// Tells systemd this; an error is logged.
pub fn notify(log: &Logger, state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        warn!(log, "systemd not notified"; "error" => error.to_string());
    }
}

/// If the unit has a `WatchdogSec`, tells systemd twice in each such time that the
/// server works, unless a batch hangs: systemd then restarts it.
pub async fn keep_watchdog(batch: RunningBatch, log: Logger) {
    let Some(timeout) = sd_notify::watchdog_enabled() else { return };
    let mut tick = tokio::time::interval(timeout / 2);
    let mut hangs = false;
    loop {
        tick.tick().await;
        let age = batch.age().filter(|age| *age > LONGEST_BATCH);
        match age {
            None => notify(&log, NotifyState::Watchdog),
            Some(age) if !hangs => warn!(log, "watchdog withheld: a batch of cancellations hangs";
                "seconds" => age.as_secs(), "effect" => "systemd restarts the server"),
            Some(_) => {}
        }
        hangs = age.is_some();
    }
}
