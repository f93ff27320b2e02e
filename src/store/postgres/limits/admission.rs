//! The statements that count a batch of requests. Each is one round trip and commits by itself, so
//! that a server that is suspended holds no lock. One counts the batch in the windows of its
//! accounts, and each request's decision follows from the counts before; only refusals, and
//! accounts of which a key is banned, need another.

use crate::limits::{
    AccountWindows, Ban, Decision, FixedWindow, KeyedRequest, RateLimitStatus, Timestamp,
};
use crate::store::postgres::timeouts::UNCOUNTED_RETRY_AFTER;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement, ToStatement};

/// The most keys of one batch. Two answers fit into the buffers of a socket, so that a server that
/// is suspended and takes neither keeps none from its commit: 84 bytes a key.
pub const MAX_KEYS: usize = 500;

/// How many expired rows one statement removes: their locks are held for milliseconds.
const REMOVED_AT_A_TIME: u64 = 500;

/// Each statement is planned once, for single rows. A failover may forget the last counts, so none
/// waits for the disk or a standby.
const SETTINGS: &str = "
    SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET synchronous_commit = off";

/// The bans of these keys that have not ended.
pub const SELECT_BANS: &str = "
    SELECT key, banned_until - now, unbanned_at
    FROM limits_keys, (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
                       OFFSET 0) n
    WHERE key = ANY($1) AND ban_seconds > 0 AND banned_until > now";

/// The statements that admit batches, prepared on one connection.
pub struct Admission {
    count: Statement,
    bans: Statement,
    strike: Statement,
}

/// Requests of a batch, with their positions in it.
type Requests<'a> = Vec<(usize, &'a KeyedRequest)>;

/// The decision on each request of a batch; none on those that are not counted yet, because a key
/// of their account may be banned.
type Decisions = Vec<Option<Decision>>;

impl Admission {
    /// Sets the connection up.
    pub async fn prepare(client: &Client) -> Result<Admission, Error> {
        client.batch_execute(SETTINGS).await?;
        Ok(Admission {
            count: client.prepare(include_str!("count.sql")).await?,
            bans: client.prepare(SELECT_BANS).await?,
            strike: client.prepare(include_str!("strike.sql")).await?,
        })
    }

    /// Admits these as the limiter in memory does: first it looks for a ban, then it counts in
    /// both windows of an account, then it counts strikes, each in an atomic step. The decisions
    /// are in the order of the requests. After an error they may have been counted.
    pub async fn run(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
    ) -> Result<Vec<Decision>, Error> {
        let counted = self.count(client, requests).await?;
        self.settle(client, requests, counted).await
    }

    /// Counts these, in one round trip. Decisions that [`is_final`] are: the others are to be
    /// settled.
    pub async fn count(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
    ) -> Result<Decisions, Error> {
        let mut decisions = vec![None; requests.len()];
        let all = requests.iter().enumerate().collect();
        self.count_in_windows(client, all, false, &mut decisions).await?;
        Ok(decisions)
    }

    /// Settles what counting has left, in up to three round trips.
    pub async fn settle(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
        counted: Decisions,
    ) -> Result<Vec<Decision>, Error> {
        let mut decisions = counted;
        let is_left_out = |((_, _), decision): &(_, &Option<Decision>)| decision.is_none();
        let left_out = requests.iter().enumerate().zip(&decisions).filter(is_left_out);
        let mut left_out: Requests<'_> = left_out.map(|(numbered, _)| numbered).collect();
        if !left_out.is_empty() {
            let keys: Vec<i64> = left_out.iter().map(|(_, request)| request.key).collect();
            let bans = bans(client, &self.bans, &keys).await?;
            let bans: HashMap<i64, Ban> = bans.into_iter().map(|ban| (ban.key, ban)).collect();
            left_out.retain(|(position, request)| {
                let ban = bans.get(&request.key).filter(|ban| {
                    !request.is_shut() && ban.unbanned_at_ms >= request.unbanned_at_ms
                });
                if let Some(ban) = ban {
                    set(&mut decisions, *position, banned(request, ban.ends_in, false));
                }
                ban.is_none()
            });
            self.count_in_windows(client, left_out, true, &mut decisions).await?;
        }
        self.strike(client, requests, &mut decisions).await?;
        let decided = requests.iter().zip(decisions);
        Ok(decided.map(|(one, decision)| decision.unwrap_or_else(|| unavailable(one))).collect())
    }

    /// Counts these. Accounts of which a key may be banned are left out, unless `with_banned`. An
    /// account has the limits of its last request.
    async fn count_in_windows(
        &self,
        client: &Client,
        requests: Requests<'_>,
        with_banned: bool,
        decisions: &mut [Option<Decision>],
    ) -> Result<(), Error> {
        let mut by_account = group(requests, |request| request.account);
        let (mut accounts, mut numbers) = (Vec::new(), Vec::new());
        let (mut per_minute, mut per_day) = (Vec::new(), Vec::new());
        for (account, (last, of_account)) in &by_account {
            accounts.push(*account);
            numbers.push(of_account.len() as i64);
            per_minute.push(i64::from(last.limits.per_minute));
            per_day.push(i64::from(last.limits.per_day));
        }
        if accounts.is_empty() {
            return Ok(());
        }
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&accounts, &numbers, &per_minute, &per_day, &with_banned];
        for row in client.query(&self.count, &parameters).await? {
            let Some((last, of_account)) = by_account.remove(&row.try_get(0)?) else { continue };
            let now = timestamp(row.try_get(1)?);
            let window = |column| {
                let closes_at = timestamp(row.try_get(column)?);
                Ok::<_, Error>(FixedWindow {
                    closes_at,
                    requests: in_u32(row.try_get(column + 1)?),
                })
            };
            let mut before = AccountWindows { minute: window(2)?, day: window(4)? };
            for (position, _) in of_account {
                set(decisions, position, before.admit(now, last.limits));
            }
        }
        Ok(())
    }

    /// Counts strikes for those that are refused, and turns those from which on a key is banned
    /// into bans. An account that may send nothing gets none: the operator chose it.
    async fn strike(
        &self,
        client: &Client,
        requests: &[KeyedRequest],
        decisions: &mut [Option<Decision>],
    ) -> Result<(), Error> {
        let is_strike = |((_, request), decision): &((usize, &KeyedRequest), &Option<Decision>)| {
            decision.is_some_and(|decision| !is_final(request, &decision))
        };
        let refused = requests.iter().enumerate().zip(&*decisions).filter(is_strike);
        let refused = refused.map(|(numbered, _)| numbered).collect();
        let mut by_key = group(refused, |request| request.key);
        let (mut keys, mut accounts, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut per_minute, mut unbanned_at) = (Vec::new(), Vec::new());
        for (key, (last, of_key)) in &by_key {
            keys.push(*key);
            accounts.push(last.account);
            numbers.push(of_key.len() as i64);
            per_minute.push(i64::from(last.limits.per_minute));
            unbanned_at.push(of_key.iter().map(|(_, one)| one.unbanned_at_ms).max());
        }
        if keys.is_empty() {
            return Ok(());
        }
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&keys, &accounts, &numbers, &per_minute, &unbanned_at];
        for row in client.query(&self.strike, &parameters).await? {
            let Some((last, of_key)) = by_key.remove(&row.try_get(0)?) else { continue };
            let (now, until) = (timestamp(row.try_get(1)?), timestamp(row.try_get(3)?));
            let ends_in = until.saturating_duration_since(now);
            // How many come before the ban; -1 if another batch has begun it.
            let limited: i64 = row.try_get(2)?;
            for ((position, _), number) in of_key.into_iter().zip(0..) {
                if number >= limited {
                    set(decisions, position, banned(last, ends_in, number == limited));
                }
            }
        }
        Ok(())
    }
}

/// By this id, in the order of ids: the last request, and all.
fn group<'a>(
    requests: Requests<'a>,
    id: impl Fn(&KeyedRequest) -> i64,
) -> BTreeMap<i64, (&'a KeyedRequest, Requests<'a>)> {
    let mut groups = BTreeMap::new();
    for (position, request) in requests {
        let (last, all) = groups.entry(id(request)).or_insert((request, Requests::new()));
        *last = request;
        all.push((position, request));
    }
    groups
}

fn set(decisions: &mut [Option<Decision>], position: usize, decision: Decision) {
    if let Some(slot) = decisions.get_mut(position) {
        *slot = Some(decision);
    }
}

/// Whether no strike can turn the decision into a ban.
pub fn is_final(request: &KeyedRequest, decision: &Decision) -> bool {
    request.is_shut() || !matches!(decision, Decision::Limited(..))
}

/// The decision on a request whose key is banned.
pub fn banned(request: &KeyedRequest, resets_in: Duration, begins: bool) -> Decision {
    let status = RateLimitStatus { limit: request.limits.per_minute, remaining: 0, resets_in };
    Decision::Banned { status, begins }
}

/// The decision on a request that could not be counted.
pub fn unavailable(request: &KeyedRequest) -> Decision {
    let limit = request.limits.per_minute;
    Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in: UNCOUNTED_RETRY_AFTER })
}

/// The bans of these keys that have not ended, by [`SELECT_BANS`].
pub async fn bans(
    client: &Client,
    statement: &(impl ToStatement + ?Sized),
    keys: &[i64],
) -> Result<Vec<Ban>, Error> {
    let rows = client.query(statement, &[&keys]).await?;
    let ban = |row: &Row| {
        let ends_in = Duration::from_micros(u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0));
        Ok(Ban { key: row.try_get(0)?, ends_in, unbanned_at_ms: row.try_get(2)? })
    };
    rows.iter().map(ban).collect()
}

/// Removes rows that count for nothing any more, some at a time; whether there may be more.
pub async fn remove_expired(client: &Client) -> Result<bool, Error> {
    let mut is_more = false;
    let accounts = ("limits_accounts", "account", "greatest(day_closes, bans_until)");
    // A minute may close after the day in which it was opened.
    for (table, id, end) in [accounts, ("limits_keys", "key", "forgotten_at")] {
        let delete = format!(
            "DELETE FROM {table} WHERE {id} = ANY (ARRAY(SELECT {id} FROM {table}
             WHERE {end} < (extract(epoch FROM now()) * 1000000)::bigint - 60000000
             LIMIT {REMOVED_AT_A_TIME} FOR UPDATE SKIP LOCKED))"
        );
        is_more |= client.execute(&delete, &[]).await? >= REMOVED_AT_A_TIME;
    }
    Ok(is_more)
}

pub fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(1_000))
}

pub fn in_u32(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
