//! The rate limit windows, in the form in which the counts file contains them. A server with an
//! embedded store restores them after a restart.

use super::window::AccountWindows;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindows {
    pub accounts: Vec<(i64, AccountWindows)>,
}
