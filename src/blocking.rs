//! Runs blocking work on tokio's blocking threads, of which there are at most 512. Each kind of
//! work has a limit, so that threads stay free for the shutdown and the key lookups.

use std::future::pending;
use std::panic::resume_unwind;
use tokio::task::JoinHandle;

/// Runs `work` on a blocking thread. Keeps the permit until `work` ends, even if the caller stops
/// waiting, so that permits limit concurrent work. Pass `()` as the permit if the work is limited
/// in another way.
pub fn spawn_blocking_with_permit<P, T>(
    permit: P,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T>
where
    P: Send + 'static,
    T: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "this call keeps a permit")]
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    })
}

/// Runs `work` on a blocking thread. If `work` panics, this function panics too. The caller must
/// limit the number of concurrent calls.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking_with_permit((), work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down and is about to drop this future.
            Err(_) => pending().await,
        },
    }
}
