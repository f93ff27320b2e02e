//! Waiting for what another thread, process or server brings about.
#![expect(clippy::panic, reason = "a test that cannot go on says so by panicking")]

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// How long to wait for something: far longer than it needs, so that a busy machine fails no test.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(10);

/// An error if it is too late, also for an answer that has come.
fn require_in_time(what: &str, began: Instant, timeout: Duration) -> anyhow::Result<()> {
    if began.elapsed() > timeout {
        let text = format!("not within {timeout:?}: {what}");
        return Err(Error::new(ErrorKind::TimedOut, text).into());
    }
    Ok(())
}

/// Asks until there is an answer; the thread sleeps in between.
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
            None => std::thread::sleep(INTERVAL),
        }
    }
}

/// Asks until there is an answer.
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
            None => tokio::time::sleep(INTERVAL).await,
        }
    }
}

/// Waits until this holds.
pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waited = wait_for(what, WAIT_TIMEOUT, async || holds().await.then_some(())).await;
    waited.unwrap_or_else(|error| panic!("{error}"));
}

/// Waits until this holds, which must be for what is asked after a second, and after as long as the
/// machine stood still.
pub async fn wait_a_second_until<F: Future<Output = bool>>(
    what: &str,
    mut holds: impl FnMut() -> F,
) {
    let canary = crate::Canary::start().unwrap_or_else(|error| panic!("{error}"));
    let began = Instant::now();
    loop {
        let asked = began.elapsed();
        if holds().await {
            return;
        }
        let stalled = canary.stalled();
        assert!(asked < Duration::from_secs(1) + stalled, "not {asked:?} later: {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}
