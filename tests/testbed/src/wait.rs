//! Waiting for what another thread or process brings about.
#![expect(clippy::panic, reason = "a test that cannot go on says so by panicking")]

use crate::ServerProcess;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long a test waits for something: far longer than it needs, so that a busy
/// machine fails no test.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until this holds.
pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < WAIT_TIMEOUT, "not within {WAIT_TIMEOUT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until this holds, which must be within one second: a hundred attempts
/// 10 ms apart. On a busy machine the attempts take longer, as what is waited for
/// does, so load alone fails no test.
pub async fn wait_a_second_until<F: Future<Output = bool>>(
    what: &str,
    mut holds: impl FnMut() -> F,
) {
    for _ in 0..100 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within a second: {what}");
}

impl ServerProcess {
    /// [`ServerProcess::wait`] without blocking the runtime, which may carry a tap.
    pub async fn exited(self) -> (ExitStatus, String) {
        let waited = tokio::task::spawn_blocking(move || self.wait()).await;
        match waited {
            Ok(Ok(exited)) => exited,
            Ok(Err(error)) => panic!("{error:#}"),
            Err(error) => panic!("{error}"),
        }
    }
}
