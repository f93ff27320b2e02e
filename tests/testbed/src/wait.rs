//! Waiting for what another thread, process or server brings about.
#![cfg_attr(
    feature = "in-process",
    expect(clippy::panic, reason = "a test that cannot go on says so by panicking")
)]

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

/// How long to wait for something: far longer than it needs, so that a busy machine fails no test.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(10);

/// A wait that began, and until when it lasts.
struct Wait<'a> {
    what: &'a str,
    began: Instant,
    timeout: Duration,
}

impl Wait<'_> {
    fn new(what: &str, timeout: Duration) -> Wait<'_> {
        Wait { what, began: Instant::now(), timeout }
    }

    /// How long to sleep before it is asked again; an error if it is too late, also for an answer.
    fn interval(&self) -> anyhow::Result<Duration> {
        if self.began.elapsed() > self.timeout {
            let text = format!("not within {:?}: {}", self.timeout, self.what);
            return Err(Error::new(ErrorKind::TimedOut, text).into());
        }
        Ok(INTERVAL)
    }
}

/// Asks until there is an answer; the thread sleeps in between.
pub fn wait_blocking<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl FnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let wait = Wait::new(what, timeout);
    loop {
        let (answer, interval) = (ask(), wait.interval()?);
        match answer {
            Some(answer) => return Ok(answer),
            None => std::thread::sleep(interval),
        }
    }
}

/// Asks until there is an answer.
#[cfg(any(feature = "in-process", feature = "postgres"))]
pub async fn wait_for<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let wait = Wait::new(what, timeout);
    loop {
        let (answer, interval) = (ask().await, wait.interval()?);
        match answer {
            Some(answer) => return Ok(answer),
            None => tokio::time::sleep(interval).await,
        }
    }
}

/// Waits until this holds.
#[cfg(feature = "in-process")]
pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waited = wait_for(what, WAIT_TIMEOUT, async || holds().await.then_some(())).await;
    waited.unwrap_or_else(|error| panic!("{error}"));
}

/// Waits until this holds, which must be for what is asked after a second, and after as long as the
/// machine stood still.
#[cfg(feature = "in-process")]
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

#[cfg(feature = "in-process")]
impl crate::ServerProcess {
    /// [`ServerProcess::wait`] without blocking the runtime, which may carry a tap.
    pub async fn exited(self) -> (std::process::ExitStatus, String) {
        let waited = tokio::task::spawn_blocking(move || self.wait()).await;
        match waited {
            Ok(Ok(exited)) => exited,
            Ok(Err(error)) => panic!("{error:#}"),
            Err(error) => panic!("{error}"),
        }
    }
}
