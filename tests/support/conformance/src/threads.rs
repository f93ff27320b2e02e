//! Work on other threads.

use anyhow::anyhow;
use std::thread::ScopedJoinHandle;

/// What a thread returned.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))
}

/// Does what a thread cannot that belongs to a runtime.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| joined(scope.spawn(work)))?
}
