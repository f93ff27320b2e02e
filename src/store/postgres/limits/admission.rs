//! The statement that counts a batch of requests in the windows of their accounts. It is one round
//! trip and commits by itself, so that a server that is suspended holds no lock. Each request's
//! decision follows from the counts before.

use crate::limits::{
    AccountWindows, Decision, FixedWindow, KeyedRequest, RateLimitStatus, Timestamp,
};
use crate::store::postgres::timeouts::UNCOUNTED_RETRY_AFTER;
use std::collections::BTreeMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

/// The most accounts of one batch. Two answers fit into the buffers of a socket, so that a server
/// that is suspended and takes neither keeps none from its commit: 84 bytes an account.
pub const MAX_ACCOUNTS: usize = 500;

/// How many expired rows one statement removes: their locks are held for milliseconds.
const REMOVED_AT_A_TIME: u64 = 500;

/// The statement is planned once, for single rows. A failover may forget the last counts, so it
/// does not wait for the disk or a standby.
const SETTINGS: &str = "
    SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET synchronous_commit = off";

/// The statement that admits batches, prepared on one connection.
pub struct Admission(Statement);

impl Admission {
    /// Sets the connection up.
    pub async fn prepare(client: &Client) -> Result<Admission, Error> {
        client.batch_execute(SETTINGS).await?;
        Ok(Admission(client.prepare(include_str!("count.sql")).await?))
    }

    /// Counts these in both windows of their accounts as the limiter in memory does, in one atomic
    /// step. An account has the limits of its last request. The decisions are in the order of the
    /// requests. After an error they may have been counted.
    pub async fn run(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
    ) -> Result<Vec<Decision>, Error> {
        // In the order of accounts, in which the statement locks their rows.
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

/// The decision on a request that could not be counted.
pub fn unavailable(request: &KeyedRequest) -> Decision {
    let limit = request.limits.per_minute;
    Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in: UNCOUNTED_RETRY_AFTER })
}

/// Removes rows that count for nothing any more, some at a time; whether there may be more.
pub async fn remove_expired(client: &Client) -> Result<bool, Error> {
    // A minute may close after the day in which it was opened.
    let delete = format!(
        "DELETE FROM limits_accounts WHERE account = ANY (ARRAY(
             SELECT account FROM limits_accounts
             WHERE day_closes < (extract(epoch FROM now()) * 1000000)::bigint - 60000000
             LIMIT {REMOVED_AT_A_TIME} FOR UPDATE SKIP LOCKED))"
    );
    Ok(client.execute(&delete, &[]).await? >= REMOVED_AT_A_TIME)
}

pub fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(1_000))
}

pub fn in_u32(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
