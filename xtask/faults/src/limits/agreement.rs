//! Compares the rate limiter's SQL statement with the in-memory limiter on random batches of
//! requests. Both must return the same decisions, with the same values for the rate limit headers.
//! Also sets the statement's clock forward and back, as may happen in a failover.

use crate::scenario::Tools;
use anyhow::Context;
use slog::{Discard, Logger, o};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::rate_limiter::{
    Decision, InMemoryRateLimiter, KeyBan, KeyedRequest, RateLimiter, Window,
};
use store_orders::store::postgres::schema::{LIMITS, migrate};
use store_orders::store::postgres::{Admission, remove_expired};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::postgres::{Cluster, Postgres};
use tokio_postgres::Client;

const REQUESTS: usize = 100_000;
const ACCOUNTS: usize = 4;
const MAX_BATCH: usize = 200;

/// The longest time, in microseconds, that a batch can wait for the rows of its accounts. It equals
/// the `statement_timeout` of the rate limiter's connection.
const MAX_WAIT_US: i64 = 650_000;

/// How far the scenario sets PostgreSQL's clock forward, and later back. A failover has the same
/// effect if the clocks of the two primaries differ.
const CLOCK_LEAD: Duration = Duration::from_secs(120);

/// Stops the loop in `step_clock` if no request is refused. The account's limit is far below this
/// number.
const MAX_DECISIONS: usize = 100;

/// A clock that the scenario sets. The search path finds this function before PostgreSQL's own.
const CLOCK: &str = "
    CREATE SCHEMA test;
    CREATE FUNCTION test.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT to_timestamp(0) + current_setting('test.now')::bigint * interval '1 microsecond' $$;";

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (_cluster, _server, client) = with_clock(tools).await?;
    let mut limiters = LimiterPair {
        postgres: PostgresLimiter::prepare(client).await?,
        now: 1_700_000_000_000_000,
        memory: InMemoryRateLimiter::new(1, Logger::root(Discard, o!())),
        plans: [PlanLimits { per_minute: 5, per_day: 30 }; ACCOUNTS],
        last_reset: Duration::ZERO,
        decisions_by_kind: BTreeMap::new(),
    };
    let (mut requests, mut batches) = (0, 0);
    while requests < REQUESTS {
        limiters.change_plan_or_clock();
        let batch = limiters.random_batch();
        requests += batch.len();
        batches += 1;
        // The limiters decide on each batch twice. In the second decision, PostgreSQL's clock is
        // `wait` microseconds behind the time of the first. This simulates a statement that read
        // the clock and then waited for the first commit. Both decisions must count the batch at
        // the time of the first.
        for wait in [0, fastrand::i64(1..=MAX_WAIT_US)] {
            if let Some(difference) = limiters.admit(&batch, wait).await? {
                report.expect(false, || {
                    format!("batch {batches}, a wait of {wait} µs, {difference}")
                });
                return Ok(());
            }
        }
    }
    report.figure(format!(
        "{requests} requests in {batches} batches: {:?}",
        limiters.decisions_by_kind
    ));
    report.expect(limiters.decisions_by_kind.len() == 3, || {
        "a kind of decision never occurred".to_string()
    });
    limiters.step_clock(report).await?;
    // `remove_expired` uses the real clock, which is far ahead of the simulated clock. So all rows
    // have expired.
    let client = &limiters.postgres.client;
    while remove_expired(client).await? {}
    let remaining: i64 =
        client.query_one("SELECT count(*) FROM limits_accounts", &[]).await?.try_get(0)?;
    report.expect(remaining == 0, || format!("{remaining} expired rows are left"));
    Ok(())
}

/// Starts PostgreSQL with the tables of request counts and the functions of [`CLOCK`]. The returned
/// cluster and server must be kept, because dropping them ends PostgreSQL.
async fn with_clock(tools: &Tools) -> anyhow::Result<(Cluster, Postgres, Client)> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let server = cluster.primary("primary", &[]).await?;
    let mut client = server.admin("postgres").await?;
    migrate(&mut client, LIMITS).await?;
    client.batch_execute(CLOCK).await?;
    Ok((cluster, server, client))
}

/// Returns the in-memory limiter's decision. `now` is in microseconds. Each request gets a new key,
/// because the in-memory limiter would ban a repeated key and the SQL statement bans none.
async fn expected_decision(
    memory: &InMemoryRateLimiter,
    request: KeyedRequest,
    now: i64,
) -> Decision {
    let wall = Duration::from_micros(now.unsigned_abs());
    let now = Now { monotonic: Duration::ZERO, wall };
    let request = KeyedRequest { key: fastrand::i64(..), ..request };
    memory.admit(request, &Arc::from("key_1"), now, Instant::now()).await
}

/// The limiter in PostgreSQL, on a connection with a simulated clock.
struct PostgresLimiter {
    client: Client,
    admission: Admission,
}

impl PostgresLimiter {
    /// Prepares the limiter's statement. The function in [`CLOCK`] must already exist, because the
    /// statement reads the time from it.
    async fn prepare(client: Client) -> anyhow::Result<PostgresLimiter> {
        client.batch_execute("SET search_path = test, pg_catalog, public").await?;
        Ok(PostgresLimiter { admission: Admission::prepare(&client).await?, client })
    }

    /// Decides on these requests at the time `now`, in microseconds.
    async fn admit(&self, now: i64, requests: &[KeyedRequest]) -> anyhow::Result<Vec<Decision>> {
        self.client.batch_execute(&format!("SET test.now = {now}")).await?;
        Ok(self.admission.run(&self.client, requests).await?)
    }
}

struct LimiterPair {
    postgres: PostgresLimiter,
    /// The time of the simulated clock, in microseconds.
    now: i64,
    memory: InMemoryRateLimiter,
    plans: [PlanLimits; ACCOUNTS],
    /// `resets_in` of a recent decision. Advancing the clock by about this time often reaches the
    /// end of a window.
    last_reset: Duration,
    decisions_by_kind: BTreeMap<&'static str, usize>,
}

impl LimiterPair {
    fn change_plan_or_clock(&mut self) {
        match fastrand::u8(..20) {
            0..3 => {
                let limits = PlanLimits {
                    per_minute: one_of(&[0, 1, 2, 3, 5, 8, 60, u32::MAX]),
                    per_day: one_of(&[0, 1, 4, 9, 30, 1_000, u32::MAX]),
                };
                if let Some(plan) = self.plans.get_mut(fastrand::usize(..ACCOUNTS)) {
                    *plan = limits;
                }
            }
            3..6 => self.now += fastrand::i64(0..70_000_000),
            6 => self.now += one_of(&[1_999_999, 2_000_000, 2_000_001]),
            7 => self.now += fastrand::i64(0..4_000_000_000),
            8 => self.now += fastrand::i64(0..100_000_000_000),
            9..14 => {
                let reset = i64::try_from(self.last_reset.as_micros()).unwrap_or(0);
                self.now += (reset + one_of(&[-1, 0, 1])).max(0);
            }
            _ => {}
        }
    }

    fn random_batch(&self) -> Vec<KeyedRequest> {
        let length = one_of(&[1, 2, 7, 40, fastrand::usize(1..=MAX_BATCH), MAX_BATCH]);
        let single_account = fastrand::bool().then(|| fastrand::usize(..ACCOUNTS));
        let request = |_| {
            let account = single_account.unwrap_or_else(|| fastrand::usize(..ACCOUNTS));
            let limits = self.plans.get(account).copied().unwrap_or_else(|| unreachable!());
            request(account as i64, limits)
        };
        let mut batch: Vec<KeyedRequest> = (0..length).map(request).collect();
        // PostgreSQL's statement admits requests in the order of their accounts. Sort the batch, so
        // that the in-memory limiter uses the same order.
        batch.sort_by_key(|request| request.account);
        batch
    }

    /// Passes the batch to both limiters, and returns the first difference between their decisions.
    ///
    /// The limiter in PostgreSQL gets a clock that is `wait` microseconds behind, as if its
    /// statement had waited for a lock.
    async fn admit(&mut self, batch: &[KeyedRequest], wait: i64) -> anyhow::Result<Option<String>> {
        let decisions = self.postgres.admit(self.now - wait, batch).await?;
        for (number, (request, decision)) in batch.iter().zip(&decisions).enumerate() {
            let expected_decision = expected_decision(&self.memory, *request, self.now).await;
            if *decision != expected_decision {
                let difference = format!("{decision:?} instead of {expected_decision:?}");
                return Ok(Some(format!("request {number}, {request:?}: {difference}")));
            }
            *self.decisions_by_kind.entry(kind(decision)).or_default() += 1;
            if fastrand::bool() {
                self.last_reset = decision.status().resets_in;
            }
        }
        Ok(None)
    }

    async fn decide(&self, request: KeyedRequest) -> anyhow::Result<Decision> {
        self.postgres.admit(self.now, &[request]).await?.pop().context("a decision")
    }

    /// A clock set past the window's end must open a new window. The new window must stay exhausted
    /// after the clock is set back.
    async fn step_clock(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let limited = request(100, PlanLimits { per_minute: 5, per_day: u32::MAX });
        let (began, ahead) = (self.now, i64::try_from(CLOCK_LEAD.as_micros())?);
        for (now, allowed) in [(began, 5), (began + ahead, 5), (began, 0)] {
            self.now = now;
            let mut admitted = 0;
            while admitted < MAX_DECISIONS
                && let Decision::Admitted(_) = self.decide(limited).await?
            {
                admitted += 1;
            }
            report.expect(admitted == allowed, || format!("{admitted} admitted, not {allowed}"));
        }
        Ok(())
    }
}

/// Each account has a single key, with the same id as the account.
fn request(account: i64, limits: PlanLimits) -> KeyedRequest {
    KeyedRequest { account, key: account, limits, ban: KeyBan::default() }
}

fn one_of<T: Copy>(choices: &[T]) -> T {
    fastrand::choice(choices).copied().unwrap_or_else(|| unreachable!())
}

fn kind(decision: &Decision) -> &'static str {
    match decision {
        Decision::Admitted(_) => "admitted",
        Decision::Limited(_, Window::Minute) => "limited by the minute",
        Decision::Limited(_, Window::Day) => "limited by the day",
        Decision::Banned { .. } => "banned",
        Decision::Unavailable(_) => "unavailable",
    }
}
