//! Set-up that the unit tests of the rate limit share.

use crate::rate_limit_state::ReportedLimit;
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn remaining(remaining: u64) -> ReportedLimit {
    ReportedLimit { remaining: Some(remaining), resets_in: Some(30 * SECOND), hold: None }
}

/// Returns the rate limit of a 429 that forbids requests for `hold`.
pub(crate) fn refused(hold: Duration) -> ReportedLimit {
    ReportedLimit { remaining: Some(0), resets_in: None, hold: Some(hold) }
}
