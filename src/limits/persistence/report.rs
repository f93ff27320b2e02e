//! Reads the counts from the limits file, beside a server that writes it.

use super::database::Database;
use super::file::FILE_NAME;
use super::saved_clock::SavedClock;
use crate::clock::{Boot, Now};
use crate::limits::report::{AccountUsage, Ban, LimitsReport, ReportError, WindowUsage};
use crate::limits::timestamp::Timestamp;
use crate::limits::window::FixedWindow;
use std::collections::HashSet;
use std::path::Path;

/// The counts in a limits file, which is at most half a second behind the server.
#[derive(Debug)]
pub struct LimitsFileReport {
    /// `None` if no server has counted anything for this store.
    database: Option<Database>,
    boot: Option<Boot>,
}

impl LimitsFileReport {
    /// Opens the file in this directory, and changes nothing in it. `boot` is that of
    /// the clock whose readings the methods get.
    pub fn open(
        directory: &Path,
        store_id: &str,
        boot: Option<Boot>,
    ) -> Result<LimitsFileReport, ReportError> {
        let database = Database::open_to_read(&directory.join(FILE_NAME), store_id);
        Ok(LimitsFileReport {
            database: database.map_err(|error| ReportError(error.into()))?,
            boot,
        })
    }

    /// Persistent monotonic time at `now`, by the clock saved in the file.
    fn persistent(&self, clock: &SavedClock, now: Now) -> Timestamp {
        Timestamp::from_nanos(clock.persistent_nanos_at(now, self.boot.as_ref()))
    }
}

impl LimitsReport for LimitsFileReport {
    fn usage(&self, account: i64, now: Now) -> Result<AccountUsage, ReportError> {
        let Some(database) = &self.database else { return Ok(AccountUsage::default()) };
        let read = database.read_account(account).map_err(|error| ReportError(error.into()))?;
        let Some((clock, windows)) = read else { return Ok(AccountUsage::default()) };
        let persistent = self.persistent(&clock, now);
        let windows = windows.clamped(persistent);
        let usage = |window: FixedWindow| {
            window.is_open(persistent).then(|| WindowUsage {
                requests: window.requests,
                resets_in: window.closes_at.saturating_duration_since(persistent),
            })
        };
        let counted_at = Timestamp::from_nanos(clock.persistent_nanos);
        Ok(AccountUsage {
            minute: usage(windows.minute),
            day: usage(windows.day),
            age: Some(persistent.saturating_duration_since(counted_at)),
        })
    }

    fn bans(&self, wanted: &[i64], now: Now) -> Result<Vec<Ban>, ReportError> {
        let Some(database) = &self.database else { return Ok(Vec::new()) };
        let read = database.read_keys().map_err(|error| ReportError(error.into()))?;
        let Some((clock, keys)) = read else { return Ok(Vec::new()) };
        let persistent = self.persistent(&clock, now);
        let wanted: HashSet<i64> = wanted.iter().copied().collect();
        let bans = keys.into_iter().filter(|(key, _)| wanted.contains(key));
        let bans = bans.filter_map(|(key, strikes)| {
            let strikes = strikes?.clamped(persistent);
            let ban = strikes.ban_at(persistent, 0, strikes.unbanned_at_ms)?;
            Some(Ban { key, ends_in: ban.resets_in, unbanned_at_ms: strikes.unbanned_at_ms })
        });
        Ok(bans.collect())
    }
}
