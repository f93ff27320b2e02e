//! Reads the request counts, while servers count.

use super::PostgresCommands;
use crate::clock::Now;
use crate::limits::postgres::{SELECT_BANS, bans, usage};
use crate::limits::{AccountUsage, Ban, LimitsReport, ReportError};
use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::read;
use crate::store::postgres::limits_location::require_recorded;
use crate::store::postgres::schema::{LIMITS, require_current};

/// The counts of the servers on one store.
pub struct PostgresLimitsReport(PostgresCommands);

impl PostgresLimitsReport {
    /// Connects to where this store's requests are counted. Blocks.
    pub fn open(url: &PostgresUrl) -> Result<PostgresLimitsReport, StoreError> {
        let store = PostgresCommands::open(url)?;
        store.ask(async |client| require_recorded(client, url).await)?;
        let commands = store.open_separate_limits(url)?.unwrap_or(store);
        commands.ask(async |client| require_current(client, LIMITS).await)?;
        Ok(PostgresLimitsReport(commands))
    }
}

impl LimitsReport for PostgresLimitsReport {
    fn usage(&self, account: i64, _: Now) -> Result<AccountUsage, ReportError> {
        let found = self.0.ask(async |client| usage(client, account).await.map_err(read));
        found.map_err(|error| ReportError(error.into()))
    }

    fn bans(&self, keys: &[i64], _: Now) -> Result<Vec<Ban>, ReportError> {
        let found = self.0.ask(async |client| bans(client, SELECT_BANS, keys).await.map_err(read));
        found.map_err(|error| ReportError(error.into()))
    }
}
