//! The windows of all accounts, as saved in the counts file.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

/// The windows of all accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindows {
    /// Rows of accounts in the store, and their windows.
    pub accounts: Vec<(i64, AccountWindows)>,
}
