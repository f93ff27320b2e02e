//! Tests the server while the request counts are unavailable. A request with a valid key must be
//! refused and must not be counted.

use async_trait::async_trait;
use slog::{Discard, Logger, o};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::{ManualClock, Now};
use store_orders::rate_limiter::{
    BegunBans, Decision, InMemoryRateLimiter, KeyedRequest, RateLimitStatus, RateLimiter,
};
use store_orders_api::plans::Plan;
use test_server::TestSetup;
use tokio::task::yield_now;

/// A limiter that cannot count requests with a valid key. It counts all other requests, and keeps
/// these counts in memory.
pub struct Unreachable {
    addresses: InMemoryRateLimiter,
    resets_in: Duration,
    timeout: Option<(Arc<ManualClock>, Duration)>,
}

impl Unreachable {
    /// Creates a limiter whose refusals ask clients to retry after `resets_in`.
    pub fn new(resets_in: Duration) -> Arc<Unreachable> {
        Arc::new(Unreachable::with_timeout(resets_in, None))
    }

    fn with_timeout(resets_in: Duration, timeout: Option<(Arc<ManualClock>, Duration)>) -> Self {
        let addresses = InMemoryRateLimiter::new(5, Logger::root(Discard, o!()));
        Unreachable { addresses, resets_in, timeout }
    }
}

#[async_trait]
impl RateLimiter for Unreachable {
    async fn admit(&self, request: KeyedRequest, _: &Arc<str>, _: Now, _: Instant) -> Decision {
        if let Some((clock, timeout)) = &self.timeout {
            yield_now().await;
            clock.advance(*timeout);
        }
        let (limit, resets_in) = (request.limits.per_minute, self.resets_in);
        Decision::Unavailable(RateLimitStatus { limit, remaining: 0, resets_in })
    }

    async fn admit_unauthenticated(&self, address: IpAddr, now: Now) -> Decision {
        self.addresses.admit_unauthenticated(address, now).await
    }

    fn unauthenticated_status(&self, address: IpAddr, now: Now) -> RateLimitStatus {
        self.addresses.unauthenticated_status(address, now)
    }

    fn bans(&self) -> &BegunBans {
        self.addresses.bans()
    }

    fn unavailable_because(&self) -> Option<String> {
        Some("no answer".to_string())
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_counted_is_refused() {
    let limits = Unreachable::new(Duration::from_millis(1_200));
    let setup = TestSetup::new().with_rate_limiter(limits);
    let key = setup.key(Plan::Pro);
    let server = setup.serve().await;
    for _ in 0..10 {
        let refused = server.list_with(&key).await;
        refused.assert_error(503, "service_unavailable");
        // The limiter asks clients to retry after 1.2 s, which `Retry-After` rounds up.
        // `X-RateLimit-Reset` is also 2 s ahead, because the test clock stands at a full second.
        assert_eq!(refused.number("retry-after"), 2);
        assert_eq!(refused.rate_limit(), (300, 0, 2));
    }
    // The refused requests were not counted against the address.
    let unauthenticated = server.send("GET", "/v1/store/orders", &[]).await;
    unauthenticated.assert_error(401, "unauthorized");
    assert_eq!(unauthenticated.rate_limit(), (5, 4, 60));
}

#[tokio::test]
async fn the_reset_agrees_with_retry_after_however_long_the_decision_took() {
    let setup = TestSetup::new();
    let timeout = Some((Arc::clone(&setup.clock), Duration::from_secs(2)));
    let limits = Unreachable::with_timeout(Duration::from_secs(1), timeout);
    let setup = setup.with_rate_limiter(Arc::new(limits));
    let key = setup.key(Plan::Pro);
    let refused = setup.serve().await.list_with(&key).await;
    refused.assert_error(503, "service_unavailable");
    assert_eq!(refused.number("retry-after"), 1);
    // The request arrives at noon, and the decision takes 2 s. `Retry-After` adds 1 s, so the reset
    // is 3 s after noon.
    assert_eq!(refused.rate_limit(), (300, 0, 3));
}
