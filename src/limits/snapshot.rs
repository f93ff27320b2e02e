//! The windows of all accounts, as saved in the limits file.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

/// The windows of all accounts. After them, files of earlier versions also contain strikes and
/// bans, which are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSnapshot {
    /// Rows of accounts in the store, and their windows.
    pub accounts: Vec<(i64, AccountWindows)>,
}

impl LimitsSnapshot {
    /// Converts every timestamp to a clock that is ahead by this offset.
    pub fn shift(mut self, offset_nanos: i64) -> LimitsSnapshot {
        for (_, windows) in &mut self.accounts {
            windows.minute.closes_at = windows.minute.closes_at.shift(offset_nanos);
            windows.day.closes_at = windows.day.closes_at.shift(offset_nanos);
        }
        self
    }
}
