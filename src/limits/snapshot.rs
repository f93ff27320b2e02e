//! What the limits hold of accounts, to be persisted or restored.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

/// Windows by account. A file of an earlier version has strikes and bans behind them, which are not
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSnapshot {
    /// The windows of accounts.
    pub accounts: Vec<(i64, AccountWindows)>,
}

impl LimitsSnapshot {
    /// These limits with every timestamp on a clock that is ahead by this offset.
    pub fn shifted(mut self, offset_nanos: i64) -> LimitsSnapshot {
        for (_, windows) in &mut self.accounts {
            windows.minute.closes_at = windows.minute.closes_at.shifted(offset_nanos);
            windows.day.closes_at = windows.day.closes_at.shifted(offset_nanos);
        }
        self
    }
}
