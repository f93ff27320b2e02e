//! Set-up that the unit tests of the rate limit share.

use crate::rate_limit_state::ReportedLimit;
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Returns a limit that allows `remaining` more requests and resets in 30 seconds.
pub(crate) fn remaining(remaining: u64) -> ReportedLimit {
    ReportedLimit { remaining: Some(remaining), resets_in: Some(30 * SECOND), hold: None }
}

/// Returns the rate limit that a 429 reports, if this 429 forbids requests for `hold`.
pub(crate) fn refused(hold: Duration) -> ReportedLimit {
    ReportedLimit { remaining: Some(0), resets_in: None, hold: Some(hold) }
}
