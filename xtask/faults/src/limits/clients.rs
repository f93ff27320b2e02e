//! Limiters as servers have them, each on its own session to a store, and what is asked of them.

use slog::{Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::limits::{Decision, KeyedRequest, Limits};
use store_orders::store::postgres::{PostgresLimits, PostgresStore, migrate};
use store_orders_api::plans::PlanLimits;
use testbed::Report;
use tokio::runtime::Handle;

/// As many requests a minute as the Free plan has, and no more on that day: on a busy machine
/// a minute passes while something is restarted.
pub const SIXTY_A_DAY: PlanLimits = PlanLimits { per_minute: 60, per_day: 60 };

/// No clock of ours has a part in the counting.
pub const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// How soon every request has its answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A store's sessions, and what counts through them.
pub struct Limiter {
    limits: PostgresLimits,
    _store: PostgresStore,
}

impl Limiter {
    /// On a session of its own to the store at this URL, which is created if it is missing.
    pub async fn open(url: &str, limits_database: Option<&str>) -> anyhow::Result<Limiter> {
        let url: store_orders::config::PostgresUrl = url.parse()?;
        let url = url.with_limits_database(limits_database.map(ToString::to_string));
        let (log, migrated) = (Logger::root(slog::Discard, o!()), url.clone());
        crate::replicas::blocking(move || Ok(migrate(&migrated, || ())?)).await?;
        let store = PostgresStore::open(&Handle::current(), url, false, log.clone())?;
        Ok(Limiter { limits: store.limits(1_000, log), _store: store })
    }

    /// What it decides.
    pub async fn admit(&self, request: KeyedRequest) -> Decision {
        let deadline = Instant::now() + ANSWER_LIMIT;
        self.limits.admit(request, &Arc::from("key_1"), NOW, deadline).await
    }

    /// Waits until it counts again; how long that took.
    pub async fn counts_within(&self, limit: Duration) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let unlimited = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };
        while let Decision::Unavailable(_) = self.admit(request(i64::MAX, unlimited)).await {
            anyhow::ensure!(began.elapsed() < limit, "requests are still refused");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(began.elapsed())
    }

    /// A request that cannot be counted is refused in time, with the figures that say so.
    pub async fn expect_refusal(&self, what: &str, report: &mut Report) {
        let began = Instant::now();
        let decision = self.admit(request(2, SIXTY_A_DAY)).await;
        report.time(format!("{what}: an answer"), began.elapsed(), ANSWER_LIMIT);
        let status = decision.status();
        let figures = (status.limit, status.remaining, status.retry_after());
        let is_right = matches!(decision, Decision::Unavailable(_)) && figures == (60, 0, 1);
        report.expect(is_right, || format!("{what}: {decision:?}"));
    }
}

/// A request of this account with its one key.
pub fn request(account: i64, limits: PlanLimits) -> KeyedRequest {
    KeyedRequest { account, key: account, limits, unbanned_at_ms: 0 }
}

/// How many of these were admitted.
pub fn admitted(decisions: &[Decision]) -> usize {
    decisions.iter().filter(|one| matches!(one, Decision::Admitted(_))).count()
}
