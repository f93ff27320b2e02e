//! The windows that the embedded store keeps across restarts of the server.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindows {
    /// The row of each account in the store, and the account's windows.
    pub accounts: Vec<(i64, AccountWindows)>,
}
