//! Gathers requests that arrive together, so that they can share a statement.

use tokio::task::yield_now;

/// The number of waiting requests at which [`gather_requests`] stops. Without a maximum,
/// [`gather_requests`] might never return under steady load.
const MAX_GATHERED: usize = 256;

/// Lets other tasks run until they add no more requests, or until [`MAX_GATHERED`] requests wait.
/// `waiting` returns the number of waiting requests.
pub async fn gather_requests(waiting: impl Fn() -> usize) {
    let mut before = 0;
    loop {
        yield_now().await;
        let now = waiting();
        if now == before || now >= MAX_GATHERED {
            return;
        }
        before = now;
    }
}
