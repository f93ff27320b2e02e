//! The script as it ships against the limiter in memory: random accounts, keys, plans,
//! lifted bans and clocks, in batches; they agree on every verdict and every figure.

use super::clients::{STORE_ID, connection};
use anyhow::Context;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use std::collections::BTreeMap;
use std::time::Duration;
use store_orders::clock::Now;
use store_orders::limits::redis::{AdmissionScript, MAX_BATCH};
use store_orders::limits::{Decision, InMemoryLimits, KeyedRequest, Limits, Window};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::redis::InstalledRedis;

const REQUESTS: usize = 100_000;
const ACCOUNTS: usize = 4;
const KEYS_EACH: i64 = 3;
const MICROS: f64 = 1e6;

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let mut both = Both {
        redis: connection(&server).await?,
        script: AdmissionScript::new(STORE_ID),
        memory: InMemoryLimits::new(1),
        plans: [PlanLimits { per_minute: 5, per_day: 30 }; ACCOUNTS],
        unbanned: BTreeMap::new(),
        last_reset: Duration::ZERO,
        seen: BTreeMap::new(),
    };
    let (mut requests, mut batches) = (0, 0);
    while requests < REQUESTS {
        both.change().await?;
        let batch = both.batch();
        requests += batch.len();
        batches += 1;
        if let Some(difference) = both.admit(&batch).await? {
            report.expect(false, || format!("batch {batches}, {difference}"));
            return Ok(());
        }
    }
    report.figure(format!("{requests} requests in {batches} batches: {:?}", both.seen));
    report.expect(both.seen.len() == 5, || "a verdict never came".to_string());
    let endless = both.endless().await?;
    report.expect(endless == [both.script.names().clock()], || {
        format!("these never expire: {endless:?}")
    });
    Ok(())
}

/// The two, and what both are given.
struct Both {
    redis: MultiplexedConnection,
    script: AdmissionScript,
    memory: InMemoryLimits,
    plans: [PlanLimits; ACCOUNTS],
    /// When the ban of each key was last lifted.
    unbanned: BTreeMap<i64, i64>,
    /// The reset of some answer of the last batch.
    last_reset: Duration,
    /// How often each kind of verdict came.
    seen: BTreeMap<&'static str, usize>,
}

impl Both {
    /// Something happens between two batches.
    async fn change(&mut self) -> anyhow::Result<()> {
        match fastrand::u8(..20) {
            0..3 => {
                let limits = PlanLimits {
                    per_minute: one_of(&[0, 1, 2, 3, 5, 8, 60, u32::MAX]),
                    per_day: one_of(&[0, 1, 4, 9, 30, 1_000, u32::MAX]),
                };
                if let Some(plan) = self.plans.get_mut(fastrand::usize(..ACCOUNTS)) {
                    *plan = limits;
                }
                Ok(())
            }
            3 => {
                *self.unbanned.entry(any_key(fastrand::usize(..ACCOUNTS))).or_default() += 1;
                Ok(())
            }
            4..7 => self.move_clock(fastrand::f64() * 70.0 * MICROS).await,
            7 => self.move_clock(fastrand::f64() * 4_000.0 * MICROS).await,
            8 => self.move_clock(fastrand::f64() * 100_000.0 * MICROS).await,
            // Redis' clock is set back: no time passes.
            9 => self.move_clock(-fastrand::f64() * 1e6 * MICROS).await,
            10..14 => {
                let reset = self.last_reset.as_micros() as f64;
                self.stop_clock_after(reset + one_of(&[-1.0, 0.0, 1.0])).await
            }
            14 => self.script_is_forgotten().await,
            _ => Ok(()),
        }
    }

    fn batch(&self) -> Vec<KeyedRequest> {
        let length = one_of(&[1, 2, 7, 40, fastrand::usize(1..=MAX_BATCH), MAX_BATCH]);
        // Now and then all are of one account.
        let only = fastrand::bool().then(|| fastrand::usize(..ACCOUNTS));
        let request = |_| {
            let account = only.unwrap_or_else(|| fastrand::usize(..ACCOUNTS));
            let key = any_key(account);
            let unbanned_at_ms = self.unbanned.get(&key).copied().unwrap_or(0);
            // A server may not have heard of the last lifting yet.
            let unheard = i64::from(fastrand::u8(..10) == 0);
            KeyedRequest {
                account: account as i64,
                key,
                limits: self.plans.get(account).copied().unwrap_or_else(|| unreachable!()),
                unbanned_at_ms: (unbanned_at_ms - unheard).max(0),
            }
        };
        (0..length).map(request).collect()
    }

    /// Both decide; the time is that of Redis. The first difference, if there is one.
    async fn admit(&mut self, batch: &[KeyedRequest]) -> anyhow::Result<Option<String>> {
        let answers = self.script.run(&mut self.redis, batch).await?;
        let now = Now { monotonic: answers.now, wall: Duration::ZERO };
        for (number, (request, decision)) in batch.iter().zip(&answers.decisions).enumerate() {
            let expected = self.memory.admit(*request, now).await;
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

    /// The stored clock: the last time, the offset, and what follows.
    async fn clock(&mut self) -> anyhow::Result<Option<(f64, f64, Vec<u8>)>> {
        let stored: Vec<u8> = self.redis.get(self.script.names().clock()).await?;
        let Some((last, rest)) = stored.split_first_chunk() else { return Ok(None) };
        let (offset, rest) = rest.split_first_chunk().context("the clock has an offset")?;
        Ok(Some((f64::from_le_bytes(*last), f64::from_le_bytes(*offset), rest.to_vec())))
    }

    async fn set_clock(&mut self, last: f64, offset: f64, rest: &[u8]) -> anyhow::Result<()> {
        let stored = [&last.to_le_bytes(), &offset.to_le_bytes(), rest].concat();
        Ok(self.redis.set(self.script.names().clock(), stored).await?)
    }

    /// Redis' clock moves by this.
    async fn move_clock(&mut self, by: f64) -> anyhow::Result<()> {
        let Some((last, offset, rest)) = self.clock().await? else { return Ok(()) };
        self.set_clock(last, offset + by.round(), &rest).await
    }

    /// Redis' clock was this much ahead of the last time, and then is set back by an hour:
    /// the next batch finds exactly that time.
    async fn stop_clock_after(&mut self, by: f64) -> anyhow::Result<()> {
        let Some((last, offset, rest)) = self.clock().await? else { return Ok(()) };
        self.set_clock(last + by.max(0.0), offset - 3_600.0 * MICROS, &rest).await
    }

    async fn script_is_forgotten(&mut self) -> anyhow::Result<()> {
        Ok(redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut self.redis).await?)
    }

    /// The names of what has no expiry.
    async fn endless(&mut self) -> anyhow::Result<Vec<String>> {
        let mut endless = Vec::new();
        let names: Vec<String> = self.redis.keys("*").await?;
        for name in names {
            if self.redis.pttl::<_, i64>(&name).await? == -1 {
                endless.push(name);
            }
        }
        Ok(endless)
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
