//! Threads on which a case may block.

use anyhow::anyhow;
use std::thread::ScopedJoinHandle;

pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))
}

/// Runs `work` on a new thread and waits for its result. On that thread, `work` may block on a
/// Tokio runtime. On the calling thread this would panic if the thread is already in a runtime.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| join(scope.spawn(work)))?
}
