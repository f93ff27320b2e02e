//! Waiting for requests that arrive together, so that they become one batch.

use tokio::task::yield_now;

/// A batch of this many requests is sent without waiting for more: under steady load every round
/// could bring more.
const MAX_GATHERED: usize = 256;

/// Yields to other tasks until a round brings no further requests, so that those that arrived
/// together share a statement.
pub async fn gathered(waiting: impl Fn() -> usize) {
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
