//! A long snapshot in the store's database: the counts have another one, and every request is
//! answered.

use super::agreement::request;
use crate::scenario::Tools;
use futures::future::join_all;
use slog::{Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::limits::{Decision, KeyedRequest, Limits};
use store_orders::store::postgres::SILENT_FOR;
use store_orders::store::postgres::{PostgresLimits, PostgresStore, migrate};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use testbed::postgres::{Cluster, DATABASE};

const ACCOUNTS: i64 = 100;
const UNLIMITED: PlanLimits = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };

/// Long enough for the dead rows of a hot row to be noticed.
const LASTS: Duration = Duration::from_secs(30);

/// All accounts send a request this often: 5,000 a second.
const PERIOD: Duration = Duration::from_millis(20);

/// No clock of ours has a part in the counting.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// How soon every request has its answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A store's sessions, and what counts through them.
struct Limiter {
    limits: PostgresLimits,
    _store: PostgresStore,
}

impl Limiter {
    /// On a session of its own to the store at this URL, which is created if it is missing.
    async fn open(url: &str) -> anyhow::Result<Limiter> {
        let url: store_orders::config::PostgresUrl = url.parse()?;
        let (log, migrated) = (Logger::root(slog::Discard, o!()), url.clone());
        crate::replicas::blocking(move || Ok(migrate(&migrated)?)).await?;
        let store = PostgresStore::open(url, false, SILENT_FOR, log.clone()).await?;
        Ok(Limiter { limits: store.limits(1_000, log), _store: store })
    }

    /// What it decides.
    async fn admit(&self, request: KeyedRequest) -> Decision {
        let deadline = Instant::now() + ANSWER_LIMIT;
        self.limits.admit(request, &Arc::from("key_1"), NOW, deadline).await
    }
}

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let limiter = Limiter::open(&primary.url()).await?;
    let (p99_before, _) = load(&limiter, LASTS / 3, report).await;
    let admin = primary.admin(DATABASE).await?;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders";
    admin.batch_execute(begin).await?;
    let (p99, slowest) = load(&limiter, LASTS, report).await;
    report.figure(format!("p99 {p99_before:.1?}, with the snapshot {p99:.1?}"));
    report.time("slowest answer", slowest, ANSWER_LIMIT);
    Ok(())
}

/// Sends requests of all accounts; the 99th percentile of the answers' times, and the longest.
async fn load(limiter: &Limiter, lasts: Duration, report: &mut Report) -> (Duration, Duration) {
    let began = Instant::now();
    let mut times = Vec::new();
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while began.elapsed() < lasts {
        ticks.tick().await;
        let sent = (0..ACCOUNTS).map(|account| async move {
            let sent = Instant::now();
            (limiter.admit(request(account, UNLIMITED)).await, sent.elapsed())
        });
        for (decision, took) in join_all(sent).await {
            let (is_admitted, is_unavailable) = (
                matches!(decision, Decision::Admitted(_)),
                matches!(decision, Decision::Unavailable(_)),
            );
            let text = || format!("not admitted: {decision:?}");
            report.expect(is_admitted || is_unavailable, text);
            report.expect_unless_stalled(is_admitted, text);
            times.push(took);
        }
    }
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    (p99, times.last().copied().unwrap_or_default())
}
