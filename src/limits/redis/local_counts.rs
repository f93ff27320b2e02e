//! What a server counts alone while Redis is lost: each account's whole plan, from nothing.
//! Bans that it has heard of hold, and nobody gets strikes.

use crate::clock::Now;
use crate::limits::timestamp::Timestamp;
use crate::limits::window::AccountWindows;
use crate::limits::{Decision, KeyedRequest, RateLimitStatus};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use std::collections::HashMap;

/// As many bans are kept before those that have ended are looked for.
const FEW_BANS: usize = 1_024;

/// The counts of this server alone.
#[derive(Debug, Default)]
pub struct LocalCounts {
    windows: Mutex<HashMap<i64, AccountWindows>>,
    bans: Mutex<KnownBans>,
    requests: Counter,
}

#[derive(Debug, Default)]
struct KnownBans {
    by_key: HashMap<i64, KnownBan>,
    /// How many were left when those that had ended were last removed.
    left: usize,
}

#[derive(Clone, Copy, Debug)]
struct KnownBan {
    until: Timestamp,
    /// The key's when the ban was heard of: a later one lifts it.
    unbanned_at_ms: i64,
}

impl LocalCounts {
    /// How many requests were decided here.
    pub fn requests(&self) -> &Counter {
        &self.requests
    }

    /// Notes a ban that Redis told of.
    pub fn note(&self, request: KeyedRequest, decision: Decision, now: Now) {
        let Decision::Banned { status, .. } = decision else { return };
        let now = Timestamp::from(now.monotonic);
        let ban =
            KnownBan { until: now + status.resets_in, unbanned_at_ms: request.unbanned_at_ms };
        let KnownBans { by_key, left } = &mut *self.bans.lock();
        by_key.insert(request.key, ban);
        if by_key.len() > FEW_BANS.max(*left * 2) {
            by_key.retain(|_, ban| now < ban.until);
            *left = by_key.len();
        }
    }

    /// Counts a request here, or rejects it.
    pub fn admit(&self, request: KeyedRequest, now: Now) -> Decision {
        self.requests.inc();
        let now = Timestamp::from(now.monotonic);
        self.banned(request, now).unwrap_or_else(|| {
            self.windows.lock().entry(request.account).or_default().admit(now, request.limits)
        })
    }

    fn banned(&self, request: KeyedRequest, now: Timestamp) -> Option<Decision> {
        let KeyedRequest { key, limits, unbanned_at_ms, .. } = request;
        let ban = *self.bans.lock().by_key.get(&key)?;
        let is_shut = limits.per_minute == 0 || limits.per_day == 0;
        let holds = !is_shut && now < ban.until && ban.unbanned_at_ms >= unbanned_at_ms;
        let resets_in = ban.until.saturating_duration_since(now);
        let status = RateLimitStatus { limit: limits.per_minute, remaining: 0, resets_in };
        holds.then_some(Decision::Banned { status, begins: false })
    }

    /// Redis counts again: what was counted here is dropped.
    pub fn forget(&self) {
        *self.windows.lock() = HashMap::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Window;
    use std::time::Duration;
    use store_orders_api::plans::PlanLimits;

    const REQUEST: KeyedRequest = KeyedRequest {
        account: 1,
        key: 7,
        limits: PlanLimits { per_minute: 3, per_day: 100 },
        unbanned_at_ms: 5,
    };

    fn at(seconds: u64) -> Now {
        Now { monotonic: Duration::from_secs(seconds), wall: Duration::ZERO }
    }

    fn ban(seconds: u64) -> Decision {
        let resets_in = Duration::from_secs(seconds);
        let status = RateLimitStatus { limit: 3, remaining: 0, resets_in };
        Decision::Banned { status, begins: false }
    }

    #[test]
    fn the_whole_plan_is_granted_without_strikes_and_forgotten() {
        let counts = LocalCounts::default();
        for outage in 1..=2 {
            for _ in 0..3 {
                assert!(matches!(counts.admit(REQUEST, at(10)), Decision::Admitted(_)));
            }
            for _ in 0..20 {
                let refused = counts.admit(REQUEST, at(10));
                assert!(matches!(refused, Decision::Limited(_, Window::Minute)), "{refused:?}");
            }
            assert_eq!(counts.requests().get(), 23 * outage);
            counts.forget();
        }
    }

    #[test]
    fn a_known_ban_holds_until_it_ends_or_is_lifted() {
        let counts = LocalCounts::default();
        counts.note(REQUEST, ban(300), at(10));
        assert_eq!(counts.admit(REQUEST, at(20)), ban(290));
        let lifted = KeyedRequest { unbanned_at_ms: 6, ..REQUEST };
        assert!(matches!(counts.admit(lifted, at(20)), Decision::Admitted(_)));
        let shut = PlanLimits { per_minute: 0, per_day: 100 };
        let of_shut = counts.admit(KeyedRequest { limits: shut, ..REQUEST }, at(20));
        assert!(matches!(of_shut, Decision::Limited(..)));
        counts.forget();
        assert_eq!(counts.admit(REQUEST, at(309)), ban(1));
        assert!(matches!(counts.admit(REQUEST, at(310)), Decision::Admitted(_)));
    }

    #[test]
    fn bans_that_have_ended_are_not_kept() {
        let counts = LocalCounts::default();
        for key in 0..10_000 {
            let seconds = u64::try_from(key).unwrap();
            counts.note(KeyedRequest { key, ..REQUEST }, ban(1), at(seconds));
        }
        assert!(counts.bans.lock().by_key.len() <= FEW_BANS);
    }
}
