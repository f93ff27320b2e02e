//! Tests the request windows of a minute and of a day: which requests count, when windows end, and
//! what the rate limit headers show.

use std::time::Duration;
use store_orders_api::plans::Plan;
use test_server::{TestServer, TestSetup};
use testbed::Key;

pub async fn assert_admitted(server: &TestServer, key: &Key, times: u32) {
    for number in 0..times {
        assert_eq!(server.list_with(key).await.status, 200, "request {number}");
    }
}

#[tokio::test]
async fn a_request_is_admitted_at_the_reset_and_not_a_millisecond_before() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    server.setup.clock.advance(Duration::from_millis(250));
    assert_admitted(&server, &key, 60).await;
    server.setup.clock.advance(Duration::from_millis(59_999));
    let refused = server.list_with(&key).await;
    assert_eq!(refused.assert_limited("rate_limit_exceeded"), 1);
    assert_eq!(refused.rate_limit(), (60, 0, 61), "the reset is rounded up");
    server.setup.clock.advance(Duration::from_millis(1));
    let answer = server.list_with(&key).await;
    assert_eq!((answer.status.as_u16(), answer.rate_limit()), (200, (60, 59, 121)));
}

#[tokio::test]
async fn a_request_is_admitted_exactly_after_retry_after() {
    let setup = TestSetup::new();
    let keys: Vec<Key> = (0..6).map(|_| setup.enterprise_key(1, 1_000)).collect();
    let server = setup.serve().await;
    for (key, delay_ms) in keys.iter().zip([0, 1, 500, 999, 1_000, 59_999]) {
        assert_admitted(&server, key, 1).await;
        server.setup.clock.advance(Duration::from_millis(delay_ms));
        let refused = server.list_with(key).await;
        let seconds = refused.assert_limited("rate_limit_exceeded");
        let wall = store_orders::clock::Clock::now(&*server.setup.clock).wall.as_millis() as u64;
        let reset = refused.number("x-ratelimit-reset") * 1_000;
        assert!(wall.abs_diff(reset).abs_diff(seconds * 1_000) < 1_000, "one instant in two forms");
        server.setup.clock.advance(Duration::from_secs(seconds));
        assert_admitted(&server, key, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_at_once_on_free_admit_exactly_sixty() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = std::sync::Arc::new(setup.serve().await);
    let requests = (0..200).map(|_| {
        let (server, key) = (server.clone(), key.clone());
        tokio::spawn(async move { server.list_with(&key).await })
    });
    let answers = futures::future::join_all(requests).await;
    let mut remaining = Vec::new();
    let mut refused = Vec::new();
    for answer in answers.into_iter().map(Result::unwrap) {
        match answer.status.as_u16() {
            200 => remaining.push(answer.number("x-ratelimit-remaining")),
            _ => refused.push(answer.json()["code"].as_str().unwrap().to_string()),
        }
    }
    remaining.sort_unstable();
    assert_eq!(
        remaining,
        (0..60).collect::<Vec<_>>(),
        "each remaining count is given to one request"
    );
    let limited = refused.iter().filter(|code| *code == "rate_limit_exceeded").count();
    assert_eq!((limited, refused.len()), (140, 140), "a burst does not ban");
}

#[tokio::test]
async fn the_day_is_exhausted_before_the_minute() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(10, 12);
    let server = setup.serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (10, 9, 60));
    assert_admitted(&server, &key, 9).await;
    server.setup.clock.advance(Duration::from_secs(60));
    assert_eq!(server.list_with(&key).await.rate_limit(), (12, 1, 86_400));
    assert_eq!(server.list_with(&key).await.rate_limit(), (12, 0, 86_400));
    let refused = server.list_with(&key).await;
    assert_eq!(refused.assert_limited("rate_limit_exceeded"), 86_400 - 60);
    assert_eq!(refused.rate_limit(), (12, 0, 86_400));
    assert!(refused.json()["message"].as_str().unwrap().contains("12 requests a day"));
    server.setup.clock.advance(Duration::from_secs(86_400 - 60));
    assert_eq!(server.list_with(&key).await.rate_limit(), (10, 9, 86_460));
}

#[tokio::test]
async fn the_minute_is_exhausted_before_the_day() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(2, 5);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 2).await;
    let refused = server.list_with(&key).await;
    assert_eq!(refused.assert_limited("rate_limit_exceeded"), 60);
    assert_eq!(refused.rate_limit(), (2, 0, 60));
    assert!(refused.json()["message"].as_str().unwrap().contains("2 requests a minute"));
    server.setup.clock.advance(Duration::from_secs(60));
    // The 429 was not counted, so the day window has three requests left. The next responses report
    // the minute window, because it has fewer requests left.
    assert_eq!(server.list_with(&key).await.rate_limit(), (2, 1, 120));
    assert_eq!(server.list_with(&key).await.rate_limit(), (2, 0, 120));
}

#[tokio::test]
async fn every_answer_to_a_valid_key_counts_and_a_429_does_not() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(7, 16);
    setup.pending([1]).shipped(2);
    let server = setup.serve().await;
    let counted = [
        ("HEAD", "/v1/store/orders", 200),
        ("DELETE", "/v1/store/orders/1", 204),
        ("DELETE", "/v1/store/orders/2", 409),
        ("DELETE", "/v1/store/orders/x", 400),
        ("GET", "/v1/pets/404", 404),
        ("GET", "/nowhere", 404),
        ("POST", "/v1/store/orders", 405),
    ];
    for (remaining, (method, path, status)) in (0..7).rev().zip(counted) {
        let answer = server.send_with(&key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.rate_limit(), (7, remaining, 60), "{method} {path}");
    }
    for (method, path) in
        [("DELETE", "/v1/store/orders/2"), ("GET", "/nowhere"), ("POST", "/v1/pets/1")]
    {
        server.send_with(&key, method, path).await.assert_limited("rate_limit_exceeded");
    }
    for path in ["/openapi.json", "/changelog"] {
        let answer = server.send_with(&key, "GET", path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.headers.contains_key("x-ratelimit-limit"), "{path}");
    }
    server.setup.clock.advance(Duration::from_secs(60));
    for remaining in (0..7).rev() {
        assert_eq!(server.list_with(&key).await.rate_limit(), (7, remaining, 120));
    }
    server.setup.clock.advance(Duration::from_secs(60));
    // This is the 15th request that counts for the day. 429s and requests for public pages do not
    // count.
    assert_eq!(server.list_with(&key).await.rate_limit(), (16, 1, 86_400));
}
