//! Watches a connection for its end, and for commits that no standby confirmed.

use crate::store::StoreError;
use crate::store::postgres::error::unreachable_because;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;
use tokio_postgres::error::Severity;

/// Events of a connection that are not results of statements.
#[derive(Debug, Default)]
pub struct Link {
    unconfirmed: AtomicU64,
    closed: Notify,
}

impl Link {
    /// The number of commits that did not wait for the standby.
    pub fn unconfirmed(&self) -> u64 {
        self.unconfirmed.load(Ordering::SeqCst)
    }

    /// Fails if a commit did not wait for the standby. Considers only commits after the call of
    /// [`Link::unconfirmed`] that returned `unconfirmed`.
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

/// Transfers messages until the connection ends. Notices are processed before later query results
/// are delivered.
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

/// True if a notice may report that a COMMIT did not wait for the standby. The message is
/// translated and has no SQLSTATE, so the notice is recognised by the name of the routine in
/// PostgreSQL's source. Other warnings, such as those before transaction wraparound, come from
/// other routines. To be safe, a warning without a routine is treated as such a report.
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
