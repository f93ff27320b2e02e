//! How long a command waits for other writers, and that it says so.

use crate::store::rules::NOTICE_AFTER;
use std::pin::pin;
use tokio::time::timeout;

pub use crate::store::WaitNotice;

/// The statement's result; `notice` is called once if that takes long.
pub async fn with_notice<T>(statement: impl Future<Output = T>, notice: WaitNotice) -> T {
    let mut statement = pin!(statement);
    match timeout(NOTICE_AFTER, &mut statement).await {
        Ok(done) => done,
        Err(_) => {
            notice();
            statement.await
        }
    }
}
