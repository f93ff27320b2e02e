//! What a connection tells beside its answers: warnings, and that it has ended.

use super::error::unreachable_because;
use crate::store::StoreError;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;
use tokio_postgres::error::Severity;

/// What a connection tells beside its answers.
#[derive(Debug, Default)]
pub struct Link {
    warnings: AtomicU64,
    closed: Notify,
}

impl Link {
    /// How many warnings have come. One that comes during a COMMIT says that it did not
    /// wait for the standby.
    pub fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::SeqCst)
    }

    /// An error if one has come since there were this many: a COMMIT meanwhile may not
    /// have waited for the standby.
    pub fn require_no_warning_since(&self, warnings: u64) -> Result<(), StoreError> {
        match self.warnings() == warnings {
            true => Ok(()),
            false => Err(unreachable_because("a commit did not wait for the standby")),
        }
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }
}

/// Moves messages until the connection ends. A message is seen here before any later
/// answer is given to whom asked.
pub async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, link: Arc<Link>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            link.warnings.fetch_add(1, Ordering::SeqCst);
        }
    }
    link.closed.notify_one();
}
