//! Detects that a connection has ended. Also detects that a commit on the connection possibly did
//! not wait for the standby.

use crate::store::StoreError;
use crate::store::postgres::error::unreachable_because;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;
use tokio_postgres::error::Severity;

#[derive(Debug, Default)]
pub struct Link {
    unconfirmed: AtomicU64,
    closed: Notify,
}

impl Link {
    /// Returns how many commits on this connection may have succeeded without waiting for the
    /// standby.
    pub fn unconfirmed(&self) -> u64 {
        self.unconfirmed.load(Ordering::SeqCst)
    }

    /// Fails if a commit since `unconfirmed` may not have waited for the standby. Read
    /// [`Link::unconfirmed`] before sending the commit.
    pub fn require_confirmed_since(&self, unconfirmed: u64) -> Result<(), StoreError> {
        match self.unconfirmed() == unconfirmed {
            true => Ok(()),
            false => Err(unreachable_because("a commit did not wait for the standby")),
        }
    }

    pub async fn closed(&self) {
        self.closed.notified().await;
    }
}

/// Runs the connection until it ends. Messages are handled in order, so a warning about a COMMIT is
/// counted before the caller gets the COMMIT's result.
pub async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, link: Arc<Link>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && cancels_standby_wait(notice.parsed_severity(), notice.routine())
        {
            link.unconfirmed.fetch_add(1, Ordering::SeqCst);
        }
    }
    link.closed.notify_one();
}

/// True if a notice may mean that a COMMIT did not wait for the standby. Recognizes the notice by
/// the C function that sent it, because the text is translated and other warnings share the
/// SQLSTATE. Returns true for a warning that names no function, to be safe.
fn cancels_standby_wait(severity: Option<Severity>, routine: Option<&str>) -> bool {
    severity == Some(Severity::Warning)
        && routine.is_none_or(|routine| routine == "SyncRepWaitForLSN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cancelled_wait_for_the_standby_leaves_a_commit_unconfirmed() {
        let warning = Some(Severity::Warning);
        assert!(cancels_standby_wait(warning, Some("SyncRepWaitForLSN")));
        assert!(cancels_standby_wait(warning, None));
        assert!(!cancels_standby_wait(warning, Some("GetNewTransactionId")));
        assert!(!cancels_standby_wait(Some(Severity::Notice), Some("SyncRepWaitForLSN")));
    }
}
