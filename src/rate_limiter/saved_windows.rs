//! The rate limit windows as saved in the counts file. A server with an embedded store restores the
//! windows after a restart.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindows {
    pub accounts: Vec<(i64, AccountWindows)>,
}
