//! Signals of a connection outside its answers: unconfirmed commits, and its end.

use crate::store::StoreError;
use crate::store::postgres::error::unreachable_because;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;
use tokio_postgres::error::Severity;

/// Signals of a connection outside its answers.
#[derive(Debug, Default)]
pub struct Link {
    unconfirmed: AtomicU64,
    closed: Notify,
}

impl Link {
    /// How many commits did not wait for the standby.
    pub fn unconfirmed(&self) -> u64 {
        self.unconfirmed.load(Ordering::SeqCst)
    }

    /// Fails if a COMMIT since then did not wait for the standby: there were this many before.
    pub fn require_confirmed_since(&self, unconfirmed: u64) -> Result<(), StoreError> {
        match self.unconfirmed() == unconfirmed {
            true => Ok(()),
            false => Err(unreachable_because("a commit did not wait for the standby")),
        }
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }
}

/// Moves messages until the connection ends. Notices are processed before later query results are
/// delivered.
pub async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, link: Arc<Link>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && is_of_cancelled_wait(notice.parsed_severity(), notice.routine())
        {
            link.unconfirmed.fetch_add(1, Ordering::SeqCst);
        }
    }
    link.closed.notify_one();
}

/// Whether a notice says that a COMMIT no longer waits for the standby. Not every warning does:
/// near transaction wraparound each transaction has one. The message is translated and has no
/// SQLSTATE of its own; what does not name its routine may be anything.
fn is_of_cancelled_wait(severity: Option<Severity>, routine: Option<&str>) -> bool {
    severity == Some(Severity::Warning)
        && routine.is_none_or(|routine| routine == "SyncRepWaitForLSN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cancelled_wait_for_the_standby_leaves_a_commit_unconfirmed() {
        let warning = Some(Severity::Warning);
        assert!(is_of_cancelled_wait(warning, Some("SyncRepWaitForLSN")));
        assert!(is_of_cancelled_wait(warning, None));
        assert!(!is_of_cancelled_wait(warning, Some("GetNewTransactionId")));
        assert!(!is_of_cancelled_wait(Some(Severity::Notice), Some("SyncRepWaitForLSN")));
    }
}
