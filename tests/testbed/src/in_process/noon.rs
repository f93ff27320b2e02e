//! The time at which every test begins.

use std::time::Duration;

/// Wall time at which every test begins: 2026-06-15, noon UTC.
pub const NOON: Duration = Duration::from_secs(1_781_524_800);
