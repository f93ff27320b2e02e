//! Counts a batch of requests in the windows of their accounts with `count.sql`, and decides on
//! each request.

use crate::clock::Timestamp;
use crate::rate_limiter::{AccountWindows, Decision, FixedWindow, KeyedRequest, RateLimitStatus};
use crate::store::postgres::timeouts::UNCOUNTED_RETRY_AFTER;
use std::collections::BTreeMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

/// The maximum number of accounts in a batch. The result has about 80 bytes per account and must
/// fit into the buffers of a socket. Otherwise, PostgreSQL would wait before the commit until the
/// server reads the result. A suspended server would then keep rows locked, and other servers could
/// not count.
pub const MAX_ACCOUNTS: usize = 500;

/// The maximum number of expired rows that one statement removes. With this number, the statement
/// locks the rows only for milliseconds.
const REMOVED_PER_STATEMENT: u64 = 500;

/// Settings of the connection for `count.sql`. PostgreSQL then plans the statement only once, and
/// looks rows up instead of joining whole tables. Commits wait for neither the disk nor a standby.
const SETTINGS: &str = "
    SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET synchronous_commit = off";

/// The statement in `count.sql`, prepared on one connection.
pub struct Admission(Statement);

impl Admission {
    /// Prepares the statement, and applies `SETTINGS` to the connection. Use this connection only
    /// for request counts: with these settings, a crash can lose the last commits.
    pub async fn prepare(client: &Client) -> Result<Admission, Error> {
        client.batch_execute(SETTINGS).await?;
        Ok(Admission(client.prepare(include_str!("count.sql")).await?))
    }

    /// Counts these requests atomically in both windows of their accounts. Decides like the limiter
    /// in memory. If requests of one account have different limits, the limits of the last request
    /// apply.
    ///
    /// Returns the decisions in the order of the requests. After an error, the requests may have
    /// been counted.
    pub async fn run(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
    ) -> Result<Vec<Decision>, Error> {
        let mut by_account = BTreeMap::new();
        for (position, request) in requests.iter().enumerate() {
            let (limits, positions) =
                by_account.entry(request.account).or_insert((request.limits, Vec::new()));
            *limits = request.limits;
            positions.push(position);
        }
        let (mut accounts, mut numbers) = (Vec::new(), Vec::new());
        let (mut per_minute, mut per_day) = (Vec::new(), Vec::new());
        for (account, (limits, positions)) in &by_account {
            accounts.push(*account);
            numbers.push(positions.len() as i64);
            per_minute.push(i64::from(limits.per_minute));
            per_day.push(i64::from(limits.per_day));
        }
        let mut decisions: Vec<Decision> = requests.iter().map(unavailable).collect();
        let parameters: [&(dyn ToSql + Sync); 4] = [&accounts, &numbers, &per_minute, &per_day];
        for row in client.query(&self.0, &parameters).await? {
            let Some((limits, positions)) = by_account.remove(&row.try_get(0)?) else { continue };
            let now = timestamp(row.try_get(1)?);
            let window = |column| {
                let closes_at = timestamp(row.try_get(column)?);
                Ok::<_, Error>(FixedWindow {
                    closes_at,
                    requests: in_u32(row.try_get(column + 1)?),
                })
            };
            let mut before = AccountWindows { minute: window(2)?, day: window(4)? };
            for position in positions {
                if let Some(decision) = decisions.get_mut(position) {
                    *decision = before.admit(now, limits);
                }
            }
        }
        Ok(decisions)
    }
}

/// Returns the decision on a request that could not be counted.
pub fn unavailable(request: &KeyedRequest) -> Decision {
    let limit = request.limits.per_minute;
    Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in: UNCOUNTED_RETRY_AFTER })
}

/// Removes up to `REMOVED_PER_STATEMENT` expired rows. Returns true if there may be more.
pub async fn remove_expired(client: &Client) -> Result<bool, Error> {
    // Keep a row for a minute after its day window has closed, because its minute window may close
    // up to a minute later.
    let delete = format!(
        "DELETE FROM limits_accounts WHERE account = ANY (ARRAY(
             SELECT account FROM limits_accounts
             WHERE day_closes < (extract(epoch FROM now()) * 1000000)::bigint - 60000000
             LIMIT {REMOVED_PER_STATEMENT} FOR UPDATE SKIP LOCKED))"
    );
    Ok(client.execute(&delete, &[]).await? >= REMOVED_PER_STATEMENT)
}

pub fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(1_000))
}

pub fn in_u32(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
