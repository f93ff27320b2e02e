//! The statement as it ships against the limiter in memory: random accounts, plans and clocks, in
//! batches; they agree on every decision and every figure. And the statement on a clock that is set
//! forward and back, as a failover may do.

use crate::scenario::Tools;
use anyhow::Context;
use slog::{Discard, Logger, o};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::limits::{Decision, InMemoryLimits, KeyBan, KeyedRequest, Limits, Window};
use store_orders::store::postgres::schema::{LIMITS, migrate};
use store_orders::store::postgres::{Admission, remove_expired};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::postgres::{Cluster, Postgres};
use tokio_postgres::Client;

const REQUESTS: usize = 100_000;
const ACCOUNTS: usize = 4;
const MAX_BATCH: usize = 200;

/// How far the clock of a promoted primary may be ahead.
const AHEAD: Duration = Duration::from_secs(120);

/// More decisions than a limit of five requests takes.
const MOST_DECISIONS: usize = 100;

/// A clock that the case sets, found before PostgreSQL's own.
const CLOCK: &str = "
    CREATE SCHEMA test;
    CREATE FUNCTION test.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT to_timestamp(0) + current_setting('test.now')::bigint * interval '1 microsecond' $$;";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (_cluster, _server, client) = with_clock(tools).await?;
    let mut both = Both {
        postgres: Clocked::prepare(client).await?,
        now: 1_700_000_000_000_000,
        memory: InMemoryLimits::new(1, Logger::root(Discard, o!())),
        plans: [PlanLimits { per_minute: 5, per_day: 30 }; ACCOUNTS],
        last_reset: Duration::ZERO,
        seen: BTreeMap::new(),
    };
    let (mut requests, mut batches) = (0, 0);
    while requests < REQUESTS {
        both.change();
        let batch = both.batch();
        requests += batch.len();
        batches += 1;
        if let Some(difference) = both.admit(&batch).await? {
            report.expect(false, || format!("batch {batches}, {difference}"));
            return Ok(());
        }
    }
    report.figure(format!("{requests} requests in {batches} batches: {:?}", both.seen));
    report.expect(both.seen.len() == 3, || "a decision never came".to_string());
    both.step_clock(report).await?;
    // By the real clock, which is years ahead of that of the case, all have expired.
    let client = &both.postgres.client;
    while remove_expired(client).await? {}
    let left: i64 =
        client.query_one("SELECT count(*) FROM limits_accounts", &[]).await?.try_get(0)?;
    report.expect(left == 0, || format!("{left} expired rows are left"));
    Ok(())
}

/// A server with a database that has [`CLOCK`], and a connection to it.
pub async fn with_clock(tools: &Tools) -> anyhow::Result<(Cluster, Postgres, Client)> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let server = cluster.primary("primary", &[]).await?;
    let mut client = server.admin("postgres").await?;
    migrate(&mut client, LIMITS).await?;
    client.batch_execute(CLOCK).await?;
    Ok((cluster, server, client))
}

/// What the limiter in memory decides at this time, in microseconds. Strikes are counted elsewhere
/// than in the statement: each request has a key of its own, which is never banned.
pub async fn expected(memory: &InMemoryLimits, request: KeyedRequest, now: i64) -> Decision {
    let monotonic = Duration::from_micros(now.unsigned_abs());
    let now = Now { monotonic, wall: Duration::ZERO };
    let request = KeyedRequest { key: fastrand::i64(..), ..request };
    memory.admit(request, &Arc::from("key_1"), now, Instant::now()).await
}

/// The limiter in PostgreSQL on a connection whose clock is set.
pub struct Clocked {
    client: Client,
    /// The connection's process.
    pub backend: i32,
    admission: Admission,
}

impl Clocked {
    /// On this connection, to a database with [`CLOCK`].
    pub async fn prepare(client: Client) -> anyhow::Result<Clocked> {
        client.batch_execute("SET search_path = test, pg_catalog, public").await?;
        let backend = client.query_one("SELECT pg_backend_pid()", &[]).await?.try_get(0)?;
        Ok(Clocked { admission: Admission::prepare(&client).await?, client, backend })
    }

    /// Decides these at this time, in microseconds.
    pub async fn admit(
        &self,
        now: i64,
        requests: &[KeyedRequest],
    ) -> anyhow::Result<Vec<Decision>> {
        self.client.batch_execute(&format!("SET test.now = {now}")).await?;
        Ok(self.admission.run(&self.client, requests).await?)
    }
}

/// The two, and what both are given.
struct Both {
    postgres: Clocked,
    /// Microseconds of the database's clock.
    now: i64,
    memory: InMemoryLimits,
    plans: [PlanLimits; ACCOUNTS],
    /// The reset of some answer of the last batch.
    last_reset: Duration,
    /// How often each kind of decision came.
    seen: BTreeMap<&'static str, usize>,
}

impl Both {
    /// Something happens between two batches.
    fn change(&mut self) {
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

    fn batch(&self) -> Vec<KeyedRequest> {
        let length = one_of(&[1, 2, 7, 40, fastrand::usize(1..=MAX_BATCH), MAX_BATCH]);
        // Now and then all are of one account.
        let only = fastrand::bool().then(|| fastrand::usize(..ACCOUNTS));
        let request = |_| {
            let account = only.unwrap_or_else(|| fastrand::usize(..ACCOUNTS));
            let limits = self.plans.get(account).copied().unwrap_or_else(|| unreachable!());
            request(account as i64, limits)
        };
        let mut batch: Vec<KeyedRequest> = (0..length).map(request).collect();
        // The order in which the statement admits them.
        batch.sort_by_key(|request| request.account);
        batch
    }

    /// Both decide. The first difference, if there is one.
    async fn admit(&mut self, batch: &[KeyedRequest]) -> anyhow::Result<Option<String>> {
        let decisions = self.postgres.admit(self.now, batch).await?;
        for (number, (request, decision)) in batch.iter().zip(&decisions).enumerate() {
            let expected = expected(&self.memory, *request, self.now).await;
            if *decision != expected {
                let difference = format!("{decision:?} instead of {expected:?}");
                return Ok(Some(format!("request {number}, {request:?}: {difference}")));
            }
            *self.seen.entry(kind(decision)).or_default() += 1;
            if fastrand::bool() {
                self.last_reset = decision.status().resets_in;
            }
        }
        Ok(None)
    }

    async fn decide(&self, request: KeyedRequest) -> anyhow::Result<Decision> {
        self.postgres.admit(self.now, &[request]).await?.pop().context("a decision")
    }

    /// Set forward, the clock closes windows early by as much. Set back, it opens no window that was
    /// used up.
    async fn step_clock(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let limited = request(100, PlanLimits { per_minute: 5, per_day: u32::MAX });
        let (began, ahead) = (self.now, i64::try_from(AHEAD.as_micros())?);
        for (now, allowed) in [(began, 5), (began + ahead, 5), (began, 0)] {
            self.now = now;
            let mut admitted = 0;
            while admitted < MOST_DECISIONS
                && let Decision::Admitted(_) = self.decide(limited).await?
            {
                admitted += 1;
            }
            report.expect(admitted == allowed, || format!("{admitted} admitted, not {allowed}"));
        }
        Ok(())
    }
}

/// A request of this account with its one key.
pub fn request(account: i64, limits: PlanLimits) -> KeyedRequest {
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
