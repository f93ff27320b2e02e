//! Blocking work on tokio's threads, of which each kind may occupy only a few: what the stop
//! and the keys need always finds one of the 512.

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
