//! Tests that a panic outside the handlers is counted and logged.

use super::admin::{admin_origin, ask, setup};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use store_orders::clock::Now;
use store_orders::rate_limiter::{BegunBans, Decision, KeyedRequest, RateLimitStatus, RateLimiter};
use test_server::CapturedLog;
use testbed::wait_until;

/// Panics on every decision. Panics again when the server adds rate limit headers to an error
/// response, so the client gets no response.
#[derive(Default)]
struct Panicking(BegunBans);

#[async_trait]
impl RateLimiter for Panicking {
    async fn admit(&self, _: KeyedRequest, _: &Arc<str>, _: Now, _: Instant) -> Decision {
        panic!("a test lets the limits panic")
    }

    async fn admit_unauthenticated(&self, _: IpAddr, _: Now) -> Decision {
        panic!("a test lets the limits panic")
    }

    fn unauthenticated_status(&self, _: IpAddr, _: Now) -> RateLimitStatus {
        panic!("a test lets the limits panic")
    }

    fn bans(&self) -> &BegunBans {
        &self.0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_that_leaves_no_answer_is_recorded_as_a_500() {
    let log = CapturedLog::new();
    let setup = setup().with_log(&log).with_rate_limiter(Arc::new(Panicking::default()));
    let server = setup.serve().await;
    let url = format!("http://{}/v1/store/orders", server.direct_address());
    assert!(reqwest::get(url).await.is_err());
    let origin = admin_origin(&server);
    wait_until("the request is counted", || async {
        let metrics = ask(&origin, "/metrics").await.1;
        metrics.contains(r#"{method="GET",route="listOrders",status="500"} 1"#)
    })
    .await;
    let requests: Vec<_> =
        log.lines("INFO").into_iter().filter(|line| line["status"] == 500).collect();
    assert_eq!(requests.len(), 1, "{}", log.text());
    let errors = log.lines("ERROR");
    assert!(
        errors.iter().any(|line| line["request_id"] == requests[0]["request_id"]),
        "{errors:?}"
    );
}
