//! A batch waits for the row of an account, and another batch passes it meanwhile. The decisions
//! are those of the limiter in memory, whose clock never runs back.

use super::agreement::{Clocked, expected, request, with_clock};
use crate::scenario::Tools;
use slog::{Discard, Logger, o};
use std::time::Duration;
use store_orders::limits::{Decision, InMemoryLimits, KeyedRequest};
use store_orders_api::plans::PlanLimits;
use testbed::{Report, wait_for};
use tokio_postgres::Client;

const ROUNDS: i64 = 300;

/// Its row is locked, so that a batch waits for it.
const HELD: i64 = 1;

/// Its requests are in both batches.
const PASSED: i64 = 2;

/// Rounds exhaust both windows now and then.
const PLAN: PlanLimits = PlanLimits { per_minute: 12, per_day: 100 };
const MAX_REQUESTS: usize = 6;

/// The longest wait: the server ends a statement that waits for longer.
const MAX_WAIT_MICROS: i64 = 650_000;

/// How soon the batch waits for the lock.
const WAITS_WITHIN: Duration = Duration::from_secs(10);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (_cluster, server, holder) = with_clock(tools).await?;
    let waiting = Clocked::prepare(server.admin("postgres").await?).await?;
    let passing = Clocked::prepare(server.admin("postgres").await?).await?;
    let mut race = Race { holder, waiting, passing };
    let memory = InMemoryLimits::new(1, Logger::root(Discard, o!()));
    let (mut now, mut last_reset) = (1_700_000_000_000_000, Duration::ZERO);
    race.waiting.admit(now, &requests(HELD, 1)).await?;
    for round in 0..ROUNDS {
        let wait = fastrand::i64(1..MAX_WAIT_MICROS);
        // Often a window closes during the wait.
        let reset = i64::try_from(last_reset.as_micros())?;
        let read = now + fastrand::choice([0, 20_000_000, reset - wait / 2]).unwrap_or(0).max(0);
        now = read + wait;
        let [first, second] = [(); 2].map(|()| requests(PASSED, fastrand::usize(1..=MAX_REQUESTS)));
        let decisions = race.decide((read, &second), (now, &first)).await?;
        for (request, decision) in first.iter().chain(&second).zip(decisions) {
            let expected = expected(&memory, *request, now).await;
            if decision != expected {
                let batches = format!("{} and {} requests", first.len(), second.len());
                let difference = format!("{decision:?} instead of {expected:?}");
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

/// The connections of two servers, and one that locks a row.
struct Race {
    holder: Client,
    waiting: Clocked,
    passing: Clocked,
}

impl Race {
    /// A batch reads the clock and waits; another one reads it later and is counted first. Returns
    /// the decisions in the order of counting.
    async fn decide(
        &mut self,
        (read, waits): (i64, &[KeyedRequest]),
        (passed_at, passes): (i64, &[KeyedRequest]),
    ) -> anyhow::Result<Vec<Decision>> {
        let both = [&requests(HELD, 1), waits].concat();
        let lock = self.holder.transaction().await?;
        lock.execute("SELECT FROM limits_accounts WHERE account = $1 FOR UPDATE", &[&HELD]).await?;
        let pass = async {
            until_it_waits(lock.client(), self.waiting.backend).await?;
            let decisions = self.passing.admit(passed_at, passes).await?;
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

/// Waits until this backend waits for a lock.
async fn until_it_waits(client: &Client, backend: i32) -> anyhow::Result<()> {
    let query = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)";
    let waits = async || {
        let row = client.query_one(query, &[&backend]).await.ok()?;
        row.try_get::<_, bool>(0).ok()?.then_some(())
    };
    wait_for("a batch waits for the lock", WAITS_WITHIN, waits).await
}
