//! Reads the request counts, while servers count.

use super::CommandConnection;
use crate::clock::Now;
use crate::limits::postgres::{SELECT_BANS, bans, usage};
use crate::limits::{AccountUsage, Ban, LimitsReport, ReportError};
use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::read;
use crate::store::postgres::schema::{LIMITS, require_current};

/// The counts of the servers on one store.
pub struct PostgresLimitsReport(CommandConnection);

impl PostgresLimitsReport {
    /// Connects to where this store's requests are counted. Blocks.
    pub fn open(url: &PostgresUrl) -> Result<PostgresLimitsReport, StoreError> {
        let CommandConnection { runtime, connection } = CommandConnection::open(&url.limits())?;
        runtime.block_on(require_current(&connection.client, LIMITS))?;
        Ok(PostgresLimitsReport(CommandConnection { runtime, connection }))
    }
}

impl LimitsReport for PostgresLimitsReport {
    fn usage(&self, account: i64, _: Now) -> Result<AccountUsage, ReportError> {
        let CommandConnection { runtime, connection } = &self.0;
        let found = runtime.block_on(usage(&connection.client, account));
        found.map_err(|error| ReportError(read(error).into()))
    }

    fn bans(&self, keys: &[i64], _: Now) -> Result<Vec<Ban>, ReportError> {
        let CommandConnection { runtime, connection } = &self.0;
        let found = runtime.block_on(bans(&connection.client, SELECT_BANS, keys));
        found.map_err(|error| ReportError(read(error).into()))
    }
}
