//! What a limiter has counted, as the operator's commands show it.

use super::Window;
use crate::clock::Now;
use std::error::Error;
use std::time::Duration;

/// The counts of a limiter, which a command reads while servers run: those of one
/// server in its file, or those that several servers share in PostgreSQL.
pub trait LimitsReport {
    /// What an account, by its row in the store, has used of its windows.
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError>;
}

/// What an account has used of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// `None` if no such window is open.
    pub minute: Option<WindowUsage>,
    /// `None` if no such window is open.
    pub day: Option<WindowUsage>,
    /// The time since these were counted; `None` if nothing was ever counted.
    pub age: Option<Duration>,
}

impl AccountUsage {
    /// What is used of this window.
    pub fn of(&self, window: Window) -> Option<WindowUsage> {
        match window {
            Window::Minute => self.minute,
            Window::Day => self.day,
        }
    }
}

/// What is used of an open window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUsage {
    /// Requests counted in it.
    pub requests: u32,
    /// The time until it closes.
    pub resets_in: Duration,
}

/// The counts cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the request counts cannot be read")]
pub struct ReportError(#[source] pub Box<dyn Error + Send + Sync>);
