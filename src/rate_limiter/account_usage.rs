//! Lets the operator's commands read the request counts of a limiter.

use super::Window;
use crate::clock::Now;
use std::error::Error;
use std::time::Duration;

/// Reports a limiter's counts to commands, even while servers run. With a store in PostgreSQL, the
/// counts are in a database. With an embedded store, they are in the server's counts file.
pub trait CountsReport {
    /// Returns how many requests were counted in each open window of this account.
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// `None` if this window is not open. The same holds for `day`.
    pub minute: Option<WindowUsage>,
    pub day: Option<WindowUsage>,
    /// The time since the server saved these counts; 0 if the counts are in PostgreSQL. `None` if
    /// the store is embedded and has no counts file.
    pub age: Option<Duration>,
}

impl AccountUsage {
    pub fn in_window(&self, window: Window) -> Option<WindowUsage> {
        match window {
            Window::Minute => self.minute,
            Window::Day => self.day,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUsage {
    pub requests: u32,
    pub resets_in: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("the request counts cannot be read")]
pub struct ReportError(#[source] pub Box<dyn Error + Send + Sync>);
