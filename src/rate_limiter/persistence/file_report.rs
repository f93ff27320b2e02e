//! Reads the counts file for the operator's commands, even while a server writes it.

use super::FILE_NAME;
use super::saved::{ReadError, SavedCounts};
use crate::clock::{Now, Timestamp};
use crate::log::ErrorChain;
use crate::rate_limiter::window::FixedWindow;
use crate::rate_limiter::{AccountUsage, CountsReport, ReportError, Window, WindowUsage};
use std::path::Path;

/// The counts in a counts file, or `None` if the store has no such file. While a server runs, the
/// file may lack the latest requests.
#[derive(Debug)]
pub struct CountsFileReport(Option<SavedCounts>);

impl CountsFileReport {
    /// Reads the counts file in this directory. A file of another store is treated as missing.
    pub fn open(directory: &Path, store_id: &str) -> Result<CountsFileReport, ReportError> {
        let saved = SavedCounts::read(&directory.join(FILE_NAME));
        let saved = saved.map_err(|error| ReportError(error.into()))?;
        Ok(CountsFileReport(saved.filter(|saved| saved.store_id == store_id)))
    }
}

impl CountsReport for CountsFileReport {
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError> {
        let Some(saved) = &self.0 else { return Ok(AccountUsage::default()) };
        let entry = saved.limits.accounts.iter().find(|(row, _)| *row == account);
        let windows = entry.map(|(_, windows)| *windows).unwrap_or_default();
        let wall = Timestamp::from(now.wall);
        let usage = |counted: FixedWindow, window| {
            counted.is_open(wall).then(|| WindowUsage {
                requests: counted.requests,
                resets_in: counted
                    .remaining(wall, window)
                    .closes_at
                    .saturating_duration_since(wall),
            })
        };
        Ok(AccountUsage {
            minute: usage(windows.minute, Window::Minute),
            day: usage(windows.day, Window::Day),
            age: Some(now.wall.saturating_sub(saved.saved_at)),
        })
    }
}

/// Checks the counts file for the command `check`. Returns the number of accounts in the file, or
/// `None` if there is no file.
pub fn check(directory: &Path) -> Result<Option<usize>, String> {
    let saved = SavedCounts::read(&directory.join(FILE_NAME));
    let accounts = saved.map(|saved| saved.map(|saved| saved.limits.accounts.len()));
    accounts.map_err(|error: ReadError| format!("{FILE_NAME}: {}", ErrorChain(&error)))
}
