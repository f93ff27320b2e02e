//! Polls for conditions that another thread, process or server brings about.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// The timeout of most waits. It is far longer than needed, so that tests pass on a busy machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Fails if the timeout has passed. Callers call this function after each poll, even if the poll
/// returned a value. So a value that comes too late is an error.
fn require_in_time(what: &str, began: Instant, timeout: Duration) -> anyhow::Result<()> {
    if began.elapsed() > timeout {
        let text = format!("not within {timeout:?}: {what}");
        return Err(Error::new(ErrorKind::TimedOut, text).into());
    }
    Ok(())
}

/// Blocks the thread, so async code must not call this function.
pub fn wait_blocking<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl FnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        let answer = ask();
        require_in_time(what, began, timeout)?;
        match answer {
            Some(answer) => return Ok(answer),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

pub async fn wait_for<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        let answer = ask().await;
        require_in_time(what, began, timeout)?;
        match answer {
            Some(answer) => return Ok(answer),
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waited = wait_for(what, WAIT_TIMEOUT, async || holds().await.then_some(())).await;
    waited.unwrap_or_else(|error| panic!("{error}"));
}

/// Calls `holds` until it returns true. Fails the test if `holds` is still false after a second.
/// Stalls of the machine lengthen this second.
pub async fn wait_a_second_until<F: Future<Output = bool>>(
    what: &str,
    mut holds: impl FnMut() -> F,
) {
    let stall_detector = crate::StallDetector::start().unwrap_or_else(|error| panic!("{error}"));
    let began = Instant::now();
    loop {
        let asked = began.elapsed();
        if holds().await {
            return;
        }
        let stalled = stall_detector.stalled();
        assert!(asked < Duration::from_secs(1) + stalled, "not {asked:?} later: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
