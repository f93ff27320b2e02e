//! The windows that the embedded store keeps across restarts of the server.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindows {
    /// The id and the windows of each account.
    pub accounts: Vec<(i64, AccountWindows)>,
}
