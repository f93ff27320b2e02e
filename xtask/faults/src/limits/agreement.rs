//! The statement as it ships against the limiter in memory: random accounts, keys, plans,
//! lifted bans and clocks, in batches; they agree on every decision and every figure. And the
//! statement on a clock that is set forward and back, as a failover may do.

use crate::scenario::Tools;
use anyhow::Context;
use slog::{Discard, Logger, o};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::limits::{Decision, InMemoryLimits, KeyedRequest, Limits, Window};
use store_orders::store::postgres::schema::{LIMITS, migrate};
use store_orders::store::postgres::{Admission, remove_expired};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::postgres::{Cluster, Postgres};
use tokio_postgres::Client;

const REQUESTS: usize = 100_000;
const ACCOUNTS: usize = 4;
const KEYS_EACH: i64 = 3;
const MAX_BATCH: usize = 200;

/// How far the clock of a promoted primary may be ahead.
const AHEAD: Duration = Duration::from_secs(120);

/// More decisions than a limit of five requests takes.
const MOST_DECISIONS: usize = 100;

/// How long a first ban lasts.
const BAN: Duration = Duration::from_secs(300);

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
        unbanned: BTreeMap::new(),
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
    report.expect(both.seen.len() == 5, || "a decision never came".to_string());
    both.step_clock(report).await?;
    // By the real clock, which is years ahead of that of the case, all have expired.
    let client = &both.postgres.client;
    while remove_expired(client).await? {}
    let rows = "SELECT (SELECT count(*) FROM limits_accounts) + (SELECT count(*) FROM limits_keys)";
    let left: i64 = client.query_one(rows, &[]).await?.try_get(0)?;
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

/// What the limiter in memory decides at this time, in microseconds.
pub async fn expected(memory: &InMemoryLimits, request: KeyedRequest, now: i64) -> Decision {
    let monotonic = Duration::from_micros(now.unsigned_abs());
    let now = Now { monotonic, wall: Duration::ZERO };
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
    /// When the ban of each key was last lifted.
    unbanned: BTreeMap<i64, i64>,
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
            3 => *self.unbanned.entry(any_key(fastrand::usize(..ACCOUNTS))).or_default() += 1,
            4..6 => self.now += fastrand::i64(0..70_000_000),
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
        // A server may not have heard of the last liftings yet.
        let unheard = i64::from(fastrand::u8(..10) == 0);
        let request = |_| {
            let account = only.unwrap_or_else(|| fastrand::usize(..ACCOUNTS));
            let key = any_key(account);
            let unbanned_at_ms = self.unbanned.get(&key).copied().unwrap_or(0);
            KeyedRequest {
                account: account as i64,
                key,
                limits: self.plans.get(account).copied().unwrap_or_else(|| unreachable!()),
                unbanned_at_ms: (unbanned_at_ms - unheard).max(0),
            }
        };
        let mut batch: Vec<KeyedRequest> = (0..length).map(request).collect();
        // The order in which the statement admits them.
        batch.sort_by_key(|request| (request.account, request.key));
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

    /// Set forward, the clock closes windows and bans early by as much. Set back, it opens no
    /// window that was used up and ends no ban.
    async fn step_clock(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let limits = PlanLimits { per_minute: 5, per_day: u32::MAX };
        let [limited, banned] = [100, 101].map(|account| KeyedRequest {
            account,
            key: account,
            limits,
            unbanned_at_ms: 0,
        });
        for _ in 0..MOST_DECISIONS {
            if matches!(self.decide(banned).await?, Decision::Banned { .. }) {
                break;
            }
            self.now += 500_000;
        }
        let (began, ahead) = (self.now, i64::try_from(AHEAD.as_micros())?);
        for (now, allowed, left) in
            [(began, 5, BAN), (began + ahead, 5, BAN - AHEAD), (began, 0, BAN)]
        {
            self.now = now;
            let mut admitted = 0;
            while admitted < MOST_DECISIONS
                && let Decision::Admitted(_) = self.decide(limited).await?
            {
                admitted += 1;
            }
            report.expect(admitted == allowed, || format!("{admitted} admitted, not {allowed}"));
            let decision = self.decide(banned).await?;
            let is_kept =
                matches!(decision, Decision::Banned { .. }) && decision.status().resets_in == left;
            report.expect(is_kept, || format!("a ban with {left:?} left: {decision:?}"));
        }
        Ok(())
    }
}

fn any_key(account: usize) -> i64 {
    10 * account as i64 + fastrand::i64(0..KEYS_EACH)
}

fn one_of<T: Copy>(choices: &[T]) -> T {
    fastrand::choice(choices).copied().unwrap_or_else(|| unreachable!())
}

fn kind(decision: &Decision) -> &'static str {
    match decision {
        Decision::Admitted(_) => "admitted",
        Decision::Limited(_, Window::Minute) => "limited by the minute",
        Decision::Limited(_, Window::Day) => "limited by the day",
        Decision::Banned { begins: false, .. } => "banned",
        Decision::Banned { begins: true, .. } => "ban begins",
        Decision::Unavailable(_) => "unavailable",
    }
}
