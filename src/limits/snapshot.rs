//! What the limits hold of accounts and keys, to be persisted or restored.

use super::sharded_map::Change;
use super::strikes::Strikes;
use super::window::AccountWindows;

/// Windows by account and strikes by key: all of them, or those that have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsSnapshot {
    /// The windows of accounts.
    pub accounts: Vec<Change<AccountWindows>>,
    /// The strikes and bans of keys.
    pub keys: Vec<Change<Strikes>>,
}

impl LimitsSnapshot {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.keys.is_empty()
    }

    /// The same with every timestamp on a clock that is ahead by this offset.
    pub fn shifted(mut self, offset_nanos: i64) -> LimitsSnapshot {
        for windows in self.accounts.iter_mut().filter_map(|(_, windows)| windows.as_mut()) {
            windows.minute.closes_at = windows.minute.closes_at.shifted(offset_nanos);
            windows.day.closes_at = windows.day.closes_at.shifted(offset_nanos);
        }
        for strikes in self.keys.iter_mut().filter_map(|(_, strikes)| strikes.as_mut()) {
            strikes.closes_at = strikes.closes_at.shifted(offset_nanos);
            strikes.banned_until = strikes.banned_until.shifted(offset_nanos);
        }
        self
    }

    /// The same in row order, so that a write touches each page of the file once.
    pub fn sorted(mut self) -> LimitsSnapshot {
        self.accounts.sort_unstable_by_key(|(account, _)| *account);
        self.keys.sort_unstable_by_key(|(key, _)| *key);
        self
    }
}
