//! Blocking work on tokio's threads, of which each kind may occupy only a few: what the stop
//! and the keys need always finds one of the 512.

use std::future::pending;
use std::panic::resume_unwind;
use tokio::task::JoinHandle;

/// Runs `work` on a blocking thread. It keeps the permit of its kind until it has ended, even
/// if nothing waits for it any more: a time-out ends the wait and not the work. The permit is
/// `()` where only one can be under way.
pub fn run_with<P, T>(permit: P, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T>
where
    P: Send + 'static,
    T: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "here it has a permit")]
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    })
}

/// Runs `work` on a blocking thread, and goes on with its result or its panic. For work of which the
/// caller itself has few under way.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match run_with((), work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down: whoever waits is about to be dropped.
            Err(_) => pending().await,
        },
    }
}
