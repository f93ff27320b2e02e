//! A batch of requests waits for the row lock of an account while another batch overtakes it. The
//! decisions must equal the decisions of the in-memory limiter, whose clock never runs backwards.

use super::agreement::{PostgresLimiter, expected_decision, request, with_clock};
use crate::scenario::Tools;
use slog::{Discard, Logger, o};
use std::time::Duration;
use store_orders::limits::{Decision, InMemoryLimits, KeyedRequest};
use store_orders_api::plans::PlanLimits;
use testbed::{Report, wait_for};
use tokio_postgres::Client;

const ROUNDS: i64 = 300;

/// The account whose row is locked, so that a batch waits for it.
const LOCKED_ACCOUNT: i64 = 1;

/// The account with requests in both batches.
const SHARED_ACCOUNT: i64 = 2;

/// The limits of each account, small enough that some rounds exhaust both windows.
const PLAN: PlanLimits = PlanLimits { per_minute: 12, per_day: 100 };
const MAX_REQUESTS: usize = 6;

/// The longest wait of a batch for the lock, in microseconds. The server cancels a statement that
/// waits longer.
const MAX_WAIT_US: i64 = 650_000;

/// Time within which the batch must start to wait for the lock.
const LOCK_WAIT_TIMEOUT: Duration = Duration::from_secs(10);

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (_cluster, server, holder) = with_clock(tools).await?;
    let waiting = PostgresLimiter::prepare(server.admin("postgres").await?).await?;
    let passing = PostgresLimiter::prepare(server.admin("postgres").await?).await?;
    let mut race = Race { holder, waiting, passing };
    let memory = InMemoryLimits::new(1, Logger::root(Discard, o!()));
    let (mut now, mut last_reset) = (1_700_000_000_000_000, Duration::ZERO);
    race.waiting.admit(now, &requests(LOCKED_ACCOUNT, 1)).await?;
    for round in 0..ROUNDS {
        let wait = fastrand::i64(1..MAX_WAIT_US);
        // Chooses a time at which windows often close during the wait.
        let reset = i64::try_from(last_reset.as_micros())?;
        let read = now + fastrand::choice([0, 20_000_000, reset - wait / 2]).unwrap_or(0).max(0);
        now = read + wait;
        let [first, second] =
            [(); 2].map(|()| requests(SHARED_ACCOUNT, fastrand::usize(1..=MAX_REQUESTS)));
        let decisions = race.decide((read, &second), (now, &first)).await?;
        for (request, decision) in first.iter().chain(&second).zip(decisions) {
            let expected_decision = expected_decision(&memory, *request, now).await;
            if decision != expected_decision {
                let batches = format!("{} and {} requests", first.len(), second.len());
                let difference = format!("{decision:?} instead of {expected_decision:?}");
                report.expect(false, || {
                    format!("round {round}, a wait of {wait} µs, {batches}: {difference}")
                });
                return Ok(());
            }
            last_reset = decision.status().resets_in;
        }
    }
    report.figure(format!("{ROUNDS} batches waited while another one passed"));
    Ok(())
}

/// The connections of two servers, and a third one that locks a row.
struct Race {
    holder: Client,
    waiting: PostgresLimiter,
    passing: PostgresLimiter,
}

impl Race {
    /// Lets a batch read the clock and wait for the lock. Meanwhile another batch reads the clock
    /// later and is counted first. Returns the decisions in the order of counting.
    async fn decide(
        &mut self,
        (read, waiting_requests): (i64, &[KeyedRequest]),
        (passed_at, passing_requests): (i64, &[KeyedRequest]),
    ) -> anyhow::Result<Vec<Decision>> {
        let both = [&requests(LOCKED_ACCOUNT, 1), waiting_requests].concat();
        let lock = self.holder.transaction().await?;
        lock.execute(
            "SELECT FROM limits_accounts WHERE account = $1 FOR UPDATE",
            &[&LOCKED_ACCOUNT],
        )
        .await?;
        let pass = async {
            wait_until_blocked(lock.client(), self.waiting.backend).await?;
            let decisions = self.passing.admit(passed_at, passing_requests).await?;
            lock.commit().await?;
            anyhow::Ok(decisions)
        };
        let (after, mut decisions) = tokio::try_join!(self.waiting.admit(read, &both), pass)?;
        decisions.extend(after.into_iter().skip(1));
        Ok(decisions)
    }
}

fn requests(account: i64, number: usize) -> Vec<KeyedRequest> {
    vec![request(account, PLAN); number]
}

/// Waits until this backend is blocked by a lock.
async fn wait_until_blocked(client: &Client, backend: i32) -> anyhow::Result<()> {
    let query = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)";
    let is_blocked = async || {
        let row = client.query_one(query, &[&backend]).await.ok()?;
        row.try_get::<_, bool>(0).ok()?.then_some(())
    };
    wait_for("a batch waits for the lock", LOCK_WAIT_TIMEOUT, is_blocked).await
}
