//! What the limits hold of accounts and keys, to be persisted or restored.

use super::strikes::Strikes;
use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

/// Windows by account and strikes by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSnapshot {
    /// The windows of accounts.
    pub accounts: Vec<(i64, AccountWindows)>,
    /// The strikes and bans of keys.
    pub keys: Vec<(i64, Strikes)>,
}

impl LimitsSnapshot {
    /// These limits with every timestamp on a clock that is ahead by this offset.
    pub fn shifted(mut self, offset_nanos: i64) -> LimitsSnapshot {
        for (_, windows) in &mut self.accounts {
            windows.minute.closes_at = windows.minute.closes_at.shifted(offset_nanos);
            windows.day.closes_at = windows.day.closes_at.shifted(offset_nanos);
        }
        for (_, strikes) in &mut self.keys {
            strikes.closes_at = strikes.closes_at.shifted(offset_nanos);
            strikes.banned_until = strikes.banned_until.shifted(offset_nanos);
        }
        self
    }
}
