//! Joins threads, and turns a panic into an error. Also runs work on a new thread, because blocking
//! on a Tokio runtime panics on another runtime's thread.

use anyhow::anyhow;
use std::thread::ScopedJoinHandle;

pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))
}

/// Runs `work` on a new thread. A thread of a Tokio runtime panics if it blocks on a runtime.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| join(scope.spawn(work)))?
}
