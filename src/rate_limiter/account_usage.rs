//! The request counts of a limiter, for the operator's commands.

use super::Window;
use crate::clock::Now;
use std::error::Error;
use std::time::Duration;

/// The counts of a limiter, which a command can read while servers run. The counts are in the
/// counts file of the server or, if several servers share a store, in PostgreSQL.
pub trait CountsReport {
    /// Returns the usage of the account with this id.
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// `None` if the window is not open. The same holds for `day`.
    pub minute: Option<WindowUsage>,
    pub day: Option<WindowUsage>,
    /// The age of these counts. In PostgreSQL it is always 0. `None` if the store has no counts
    /// file.
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
