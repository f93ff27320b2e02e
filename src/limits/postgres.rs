//! The request counts of several servers, in PostgreSQL: one statement admits a batch in one
//! round trip, and commits by itself, so that a server that is suspended holds no lock. Each
//! request's decision is worked out here, from the counts before the batch.

use super::timestamp::Timestamp;
use super::window::{AccountWindows, FixedWindow};
use super::{AccountUsage, Ban, Decision, KeyedRequest, RateLimitStatus, WindowUsage};
use std::time::Duration;
use store_orders_api::plans::PlanLimits;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

/// The tables, version 1.
pub const SCHEMA_1: &str = include_str!("postgres/schema_1.sql");

/// The most keys of one batch. Two answers fit into the buffers of a socket, so that a server that
/// is suspended and takes neither keeps none from its commit: 80 bytes a key.
pub const MAX_KEYS: usize = 500;

/// How many expired rows one statement removes: their locks are held for milliseconds.
const REMOVED_AT_A_TIME: u64 = 500;

/// `Retry-After` where a request could not be counted.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The statement is planned once. A failover may forget the last counts, so none waits for the
/// disk or a standby.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan; SET synchronous_commit = off";

/// What admits batches on one connection.
#[derive(Clone)]
pub struct Admission(Statement);

impl Admission {
    /// Sets the connection up.
    pub async fn prepare(client: &Client) -> Result<Admission, Error> {
        client.batch_execute(SETTINGS).await?;
        Ok(Admission(client.prepare(include_str!("postgres/admit.sql")).await?))
    }

    /// Admits these in one atomic step, by account and key, those of one key in their order.
    /// The decisions are in the order of the requests. After an error they may have been
    /// counted. An account has the limits of its last request.
    pub async fn run(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
    ) -> Result<Vec<Decision>, Error> {
        let mut sorted: Vec<_> = requests.iter().enumerate().collect();
        sorted.sort_by_key(|(_, request)| (request.account, request.key));
        let mut asked = Asked::default();
        let mut groups = Vec::new();
        for of_account in sorted.chunk_by(|(_, one), (_, next)| one.account == next.account) {
            let last = of_account.iter().max_by_key(|(position, _)| position);
            let Some(limits) = last.map(|(_, request)| request.limits) else { continue };
            for of_key in of_account.chunk_by(|(_, one), (_, next)| one.key == next.key) {
                let Some((_, first)) = of_key.first() else { continue };
                asked.push(first, limits, of_key);
                groups.push((first.account, limits, of_key));
            }
        }
        let rows = asked.send(client, &self.0).await?;
        let mut decisions: Vec<Decision> = requests.iter().map(unavailable).collect();
        let mut windows: Option<(i64, AccountWindows)> = None;
        for ((account, limits, of_key), row) in groups.into_iter().zip(&rows) {
            let state = State::read(row)?;
            let before = match windows {
                Some((same, left)) if same == account => left,
                _ => state.windows,
            };
            let (decided, left) = state.decide(before, limits, of_key.len());
            if state.banned_until.is_none() {
                windows = Some((account, left));
            }
            for ((position, _), decision) in of_key.iter().zip(decided) {
                if let Some(slot) = decisions.get_mut(*position) {
                    *slot = decision;
                }
            }
        }
        Ok(decisions)
    }
}

/// The decision on a request that could not be counted.
pub fn unavailable(request: &KeyedRequest) -> Decision {
    let limit = request.limits.per_minute;
    Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in: RETRY_AFTER })
}

/// The parameters of the statement: a place in each for each key.
#[derive(Default)]
struct Asked {
    accounts: Vec<i64>,
    keys: Vec<i64>,
    requests: Vec<i32>,
    per_minute: Vec<i64>,
    per_day: Vec<i64>,
    unbanned_at: Vec<i64>,
}

impl Asked {
    /// Adds the requests of one key. What was heard of the last lifting of its ban counts.
    fn push(
        &mut self,
        first: &KeyedRequest,
        limits: PlanLimits,
        of_key: &[(usize, &KeyedRequest)],
    ) {
        let unbanned_at = of_key.iter().map(|(_, request)| request.unbanned_at_ms).max();
        self.accounts.push(first.account);
        self.keys.push(first.key);
        self.requests.push(i32::try_from(of_key.len()).unwrap_or(i32::MAX));
        self.per_minute.push(limits.per_minute.into());
        self.per_day.push(limits.per_day.into());
        self.unbanned_at.push(unbanned_at.unwrap_or(0));
    }

    async fn send(&self, client: &Client, statement: &Statement) -> Result<Vec<Row>, Error> {
        let Asked { accounts, keys, requests, per_minute, per_day, unbanned_at } = self;
        let count = i32::try_from(keys.len()).unwrap_or(i32::MAX);
        let parameters: [&(dyn ToSql + Sync); 7] =
            [accounts, keys, requests, per_minute, per_day, unbanned_at, &count];
        client.query(statement, &parameters).await
    }
}

/// What the statement answers for one key.
struct State {
    now: Timestamp,
    /// The end of the ban, if the key was banned before.
    banned_until: Option<Timestamp>,
    /// The account's windows before the batch.
    windows: AccountWindows,
    /// How many of the key's refusals came before its ban, and the ban's end; -1 if another
    /// batch had begun it. `None` if none was refused, or the account's limit is 0.
    limited: Option<(i64, Timestamp)>,
}

impl State {
    fn read(row: &Row) -> Result<State, Error> {
        let time = |column| Ok::<_, Error>(row.try_get::<_, Option<i64>>(column)?.map(timestamp));
        let window = |column| {
            Ok::<_, Error>(FixedWindow {
                closes_at: time(column)?.unwrap_or_default(),
                requests: requests(row.try_get::<_, Option<i64>>(column + 1)?.unwrap_or(0)),
            })
        };
        let limited: Option<i64> = row.try_get(6)?;
        Ok(State {
            now: time(0)?.unwrap_or_default(),
            banned_until: time(1)?,
            windows: AccountWindows { minute: window(2)?, day: window(4)? },
            limited: limited.zip(time(7)?),
        })
    }

    /// The decisions on as many requests, and the windows after them.
    fn decide(
        &self,
        mut windows: AccountWindows,
        limits: PlanLimits,
        requests: usize,
    ) -> (Vec<Decision>, AccountWindows) {
        let banned = |until: Timestamp, begins| {
            let resets_in = until.saturating_duration_since(self.now);
            let status = RateLimitStatus { limit: limits.per_minute, remaining: 0, resets_in };
            Decision::Banned { status, begins }
        };
        let mut refused = 0;
        let mut decide = |_| {
            if let Some(until) = self.banned_until {
                return banned(until, false);
            }
            let decision = windows.admit(self.now, limits);
            let (Decision::Limited(..), Some((limited, until))) = (decision, self.limited) else {
                return decision;
            };
            refused += 1;
            if refused <= limited { decision } else { banned(until, refused == limited + 1) }
        };
        let decisions = (0..requests).map(&mut decide).collect();
        (decisions, windows)
    }
}

/// What an account has used of its windows.
pub async fn usage(client: &Client, account: i64) -> Result<AccountUsage, Error> {
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
        let requests = requests(row.try_get(column + 1)?);
        let resets_in = closes_at.saturating_duration_since(now);
        Ok::<_, Error>((closes_at > now).then_some(WindowUsage { requests, resets_in }))
    };
    Ok(AccountUsage { minute: window(1)?, day: window(3)?, age })
}

/// The bans of these keys that have not ended.
pub async fn bans(client: &Client, keys: &[i64]) -> Result<Vec<Ban>, Error> {
    let query = "SELECT key, banned_until - now, unbanned_at
                 FROM limits_keys, (SELECT (extract(epoch FROM clock_timestamp())
                                            * 1000000)::bigint AS now OFFSET 0) n
                 WHERE key = ANY($1) AND ban_seconds > 0 AND banned_until > now";
    let rows = client.query(query, &[&keys]).await?;
    let ban = |row: &Row| {
        let ends_in = Duration::from_micros(u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0));
        Ok(Ban { key: row.try_get(0)?, ends_in, unbanned_at_ms: row.try_get(2)? })
    };
    rows.iter().map(ban).collect()
}

/// Removes rows that count for nothing any more, some at a time; whether there may be more.
pub async fn remove_expired(client: &Client) -> Result<bool, Error> {
    let mut is_more = false;
    // A minute may close after the day in which it was opened.
    for (table, id, end) in
        [("limits_accounts", "account", "day_closes"), ("limits_keys", "key", "forgotten_at")]
    {
        let delete = format!(
            "DELETE FROM {table} WHERE {id} = ANY (ARRAY(SELECT {id} FROM {table}
             WHERE {end} < (extract(epoch FROM now()) * 1000000)::bigint - 60000000
             LIMIT {REMOVED_AT_A_TIME} FOR UPDATE SKIP LOCKED))"
        );
        is_more |= client.execute(&delete, &[]).await? >= REMOVED_AT_A_TIME;
    }
    Ok(is_more)
}

fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(1_000))
}

fn requests(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
