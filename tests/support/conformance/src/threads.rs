//! Helpers for threads.

use anyhow::anyhow;
use std::thread::ScopedJoinHandle;

/// Joins a thread. Returns an error if the thread panicked.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))
}

/// Runs `work` on a thread that does not belong to a runtime.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| join(scope.spawn(work)))?
}
