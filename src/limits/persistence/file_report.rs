//! Reads the limits file for the operator's commands, also while a server writes it.

use super::FILE_NAME;
use super::saved::{ReadError, SavedLimits, nanos};
use crate::clock::{Boot, Now};
use crate::limits::timestamp::Timestamp;
use crate::limits::window::FixedWindow;
use crate::limits::{AccountUsage, LimitsReport, ReportError, WindowUsage};
use crate::log::ErrorChain;
use std::path::Path;
use std::time::Duration;

/// The counts in a limits file. They lack the requests that a running server has counted in the
/// last half second and during the last write.
#[derive(Debug)]
pub struct LimitsFileReport {
    /// `None` if no server has counted anything for this store.
    saved: Option<SavedLimits>,
    boot: Option<Boot>,
}

impl LimitsFileReport {
    /// Reads the file in this directory. `boot` is the boot of the clock whose times are passed to
    /// later calls as `now`.
    pub fn open(
        directory: &Path,
        store_id: &str,
        boot: Option<Boot>,
    ) -> Result<LimitsFileReport, ReportError> {
        let saved = SavedLimits::read(&directory.join(FILE_NAME));
        let saved = saved.map_err(|error| ReportError(error.into()))?;
        Ok(LimitsFileReport { saved: saved.filter(|saved| saved.store_id == store_id), boot })
    }

    /// Returns the saved limits, their age, and `now` as a timestamp since the moment of saving.
    fn with_age(&self, now: Now) -> Option<(&SavedLimits, Duration, Timestamp)> {
        let saved = self.saved.as_ref()?;
        let age = saved.age(now, self.boot.as_ref());
        Some((saved, age, Timestamp::from_nanos(nanos(age))))
    }
}

impl LimitsReport for LimitsFileReport {
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError> {
        let Some((saved, age, now)) = self.with_age(now) else {
            return Ok(AccountUsage::default());
        };
        let entry = saved.limits.accounts.iter().find(|(row, _)| *row == account);
        let windows = entry.map(|(_, windows)| *windows).unwrap_or_default();
        let usage = |window: FixedWindow| {
            window.is_open(now).then(|| WindowUsage {
                requests: window.requests,
                resets_in: window.closes_at.saturating_duration_since(now),
            })
        };
        Ok(AccountUsage { minute: usage(windows.minute), day: usage(windows.day), age: Some(age) })
    }
}

/// Checks the limits file in this directory for the command `check`. Returns the number of accounts
/// in it, or `None` if there is no file.
pub fn check(directory: &Path) -> Result<Option<usize>, String> {
    let saved = SavedLimits::read(&directory.join(FILE_NAME));
    let accounts = saved.map(|saved| saved.map(|saved| saved.limits.accounts.len()));
    accounts.map_err(|error: ReadError| format!("{FILE_NAME}: {}", ErrorChain(&error)))
}
