//! Reads an account's request counts for commands, from the database in which servers count
//! requests.

use super::PostgresOperatorStore;
use crate::clock::Now;
use crate::rate_limiter::{AccountUsage, CountsReport, ReportError, WindowUsage};
use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::read_error;
use crate::store::postgres::rate_limiter::{in_u32, timestamp};
use crate::store::postgres::schema::{LIMITS, require_current};
use std::time::Duration;
use tokio_postgres::{Client, Error};

pub struct PostgresCountsReport(PostgresOperatorStore);

impl PostgresCountsReport {
    /// Connects to the database of the request counts. Fails if this program cannot use the tables
    /// in that database. Blocks the calling thread.
    pub fn open(url: &PostgresUrl) -> Result<PostgresCountsReport, StoreError> {
        let commands = PostgresOperatorStore::open(&url.counts_database())?;
        commands.run(async |client| require_current(client, LIMITS).await)?;
        Ok(PostgresCountsReport(commands))
    }
}

impl CountsReport for PostgresCountsReport {
    fn usage(&self, account: i64, _: Now) -> Result<AccountUsage, ReportError> {
        let usage =
            self.0.run(async |client| read_usage(client, account).await.map_err(read_error));
        usage.map_err(|error| ReportError(error.into()))
    }
}

async fn read_usage(client: &Client, account: i64) -> Result<AccountUsage, Error> {
    let query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, minute_closes,
                        minute_requests, day_closes, day_requests
                 FROM limits_accounts WHERE account = $1";
    let age = Some(Duration::ZERO);
    let Some(row) = client.query_opt(query, &[&account]).await? else {
        return Ok(AccountUsage { age, ..AccountUsage::default() });
    };
    let now = timestamp(row.try_get(0)?);
    let window = |column| {
        let closes_at = timestamp(row.try_get(column)?);
        let requests = in_u32(row.try_get(column + 1)?);
        let resets_in = closes_at.saturating_duration_since(now);
        Ok::<_, Error>((closes_at > now).then_some(WindowUsage { requests, resets_in }))
    };
    Ok(AccountUsage { minute: window(1)?, day: window(3)?, age })
}
