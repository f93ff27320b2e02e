//! What the limits file says to the operator's commands, also while a server writes it.

use super::FILE_NAME;
use super::saved::{ReadError, SavedLimits, nanos};
use crate::clock::{Boot, Now};
use crate::limits::timestamp::Timestamp;
use crate::limits::window::FixedWindow;
use crate::limits::{AccountUsage, LimitsReport, ReportError, WindowUsage};
use crate::log::ErrorChain;
use std::path::Path;
use std::time::Duration;

/// The counts in a limits file, which was at most half a second behind the server.
#[derive(Debug)]
pub struct LimitsFileReport {
    /// `None` if no server has counted anything for this store.
    saved: Option<SavedLimits>,
    boot: Option<Boot>,
}

impl LimitsFileReport {
    /// Reads the file in this directory. `boot` is that of the clock whose readings the
    /// methods get.
    pub fn open(
        directory: &Path,
        store_id: &str,
        boot: Option<Boot>,
    ) -> Result<LimitsFileReport, ReportError> {
        let saved = SavedLimits::read(&directory.join(FILE_NAME));
        let saved = saved.map_err(|error| ReportError(error.into()))?;
        Ok(LimitsFileReport { saved: saved.filter(|saved| saved.store_id == store_id), boot })
    }

    /// What is saved, how long ago that was, and the time now in its timestamps.
    fn at(&self, now: Now) -> Option<(&SavedLimits, Duration, Timestamp)> {
        let saved = self.saved.as_ref()?;
        let age = saved.age(now, self.boot.as_ref());
        Some((saved, age, Timestamp::from_nanos(nanos(age))))
    }
}

impl LimitsReport for LimitsFileReport {
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError> {
        let Some((saved, age, now)) = self.at(now) else { return Ok(AccountUsage::default()) };
        let of_account = saved.limits.accounts.iter().find(|(row, _)| *row == account);
        let windows = of_account.map(|(_, windows)| *windows).unwrap_or_default();
        let usage = |window: FixedWindow| {
            window.is_open(now).then(|| WindowUsage {
                requests: window.requests,
                resets_in: window.closes_at.saturating_duration_since(now),
            })
        };
        Ok(AccountUsage { minute: usage(windows.minute), day: usage(windows.day), age: Some(age) })
    }
}

/// For `check`: the accounts whose requests the file in this directory counts, if there is
/// a file; or what is wrong with it.
pub fn check(directory: &Path) -> Result<Option<usize>, String> {
    let saved = SavedLimits::read(&directory.join(FILE_NAME));
    let accounts = saved.map(|saved| saved.map(|saved| saved.limits.accounts.len()));
    accounts.map_err(|error: ReadError| format!("{FILE_NAME}: {}", ErrorChain(&error)))
}
