//! Joins threads of test cases, and turns a panic into an error. Also runs work that blocks on a
//! Tokio runtime, which must not happen on a thread of another runtime.

use anyhow::anyhow;
use std::thread::ScopedJoinHandle;

pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))
}

/// Runs `work` on a new thread and waits for its result. On the new thread, `work` can block on a
/// Tokio runtime without a panic.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| join(scope.spawn(work)))?
}
