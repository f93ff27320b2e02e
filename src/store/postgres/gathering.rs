//! Gathers the requests that share a statement.

use tokio::task::yield_now;

/// The number of requests at which [`gather_requests`] stops, because under steady load every
/// scheduler round could add more.
const MAX_GATHERED: usize = 256;

/// Yields to other tasks until a scheduler round adds no requests, so that requests that arrived
/// together share a statement. `waiting` returns the number of waiting requests.
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
