//! Tests how a client and its clones wait for the rate limit.

use crate::scripted::{Reply, ScriptedServer};
use std::time::Duration;
use store_orders_client::{Client, ErrorKind};
use tokio::time::Instant;

const LIMITED: &str = r#"{"code":"rate_limit_exceeded","message":"Wait.","status":429}"#;

fn client(server: &ScriptedServer, key: &str) -> Client {
    Client::new(&server.base_url, key).unwrap()
}

/// Returns an empty list with a rate limit that resets `resets_in` seconds after the `Date` header.
fn list(remaining: u64, resets_in: u64) -> Reply {
    Reply::json(200, "[]")
        .header("Date: Tue, 01 Dec 2026 00:00:00 GMT")
        .header("X-RateLimit-Limit: 60")
        .header(&format!("X-RateLimit-Remaining: {remaining}"))
        .header(&format!("X-RateLimit-Reset: {}", 1_796_083_200 + resets_in))
}

#[tokio::test(start_paused = true)]
async fn a_429_makes_all_clones_wait() {
    let refused = Reply::json(429, LIMITED).header("Retry-After: 42");
    let server = ScriptedServer::start([refused, list(9, 60), list(8, 60)]).await;
    let client = client(&server, "sto_test_x");
    let began = Instant::now();
    let (first, second) = tokio::join!(client.list_orders(), async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        client.clone().list_orders().await
    });
    assert_eq!((first.unwrap().attempts(), second.unwrap().attempts()), (2, 1));
    let seconds = began.elapsed().as_secs_f64();
    assert!((42.0..43.1).contains(&seconds), "{seconds}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_policy_fails_at_once_and_nothing_is_sent() {
    let refused = Reply::json(429, LIMITED).header("Retry-After: 300");
    let server = ScriptedServer::start([refused.header("x-request-id: a"), list(59, 60)]).await;
    let client = client(&server, "sto_test_x");
    let began = Instant::now();
    let error = client.list_orders().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Response, 1));
    assert!(error.is_rate_limited(), "{error}");

    tokio::time::advance(Duration::from_secs(100)).await;
    let error = client.clone().cancel_order(1).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::RateLimit, 0));
    assert!(error.is_rate_limited(), "{error}");
    assert_eq!((error.status(), error.code(), error.request_id()), (None, None, None));
    let seconds = error.retry_after().unwrap().as_secs_f64();
    assert!((200.0..=201.0).contains(&seconds), "{seconds}");
    assert_eq!(
        error.to_string(),
        format!(
            "the rate limit holds for another {seconds:.1}s, longer than this call may wait \
             (not sent)"
        )
    );
    assert_eq!(began.elapsed(), Duration::from_secs(100));
    assert_eq!(server.requests().len(), 1);

    // After 182 s, at most 119 s of the 429's `Retry-After` remain: 118 s, and up to 1 s of jitter.
    // The retry policy allows a wait of 120 s.
    tokio::time::advance(Duration::from_secs(82)).await;
    client.list_orders().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clients_of_different_keys_share_nothing() {
    let refused = Reply::json(429, LIMITED).header("Retry-After: 300");
    let server = ScriptedServer::start([refused, list(59, 60)]).await;
    client(&server, "sto_test_x").list_orders().await.unwrap_err();
    let began = Instant::now();
    client(&server, "sto_test_y").list_orders().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_the_reset_if_no_requests_remain() {
    let server = ScriptedServer::start([list(1, 20), list(0, 20), list(59, 60)]).await;
    let client = client(&server, "sto_test_x");
    let began = Instant::now();
    client.list_orders().await.unwrap();
    client.list_orders().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(client.list_orders().await.unwrap().attempts(), 1);
    let seconds = began.elapsed().as_secs_f64();
    assert!((20.0..21.1).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn calls_do_not_wait_for_a_reset_in_hours_before_a_429() {
    let refused = Reply::json(429, LIMITED).header("Retry-After: 20000");
    let server = ScriptedServer::start([list(0, 20_000), refused]).await;
    let client = client(&server, "sto_test_x");
    client.list_orders().await.unwrap();
    let error = client.list_orders().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Response, 1));
    let error = client.list_orders().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::RateLimit, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_grows_beyond_the_policy_ends_the_wait() {
    let refused =
        |seconds: u32| Reply::json(429, LIMITED).header(&format!("Retry-After: {seconds}"));
    let server = ScriptedServer::start([refused(40), refused(300).header("x-request-id: b")]).await;
    let client = client(&server, "sto_test_x");
    let (first, second) = tokio::join!(client.list_orders(), client.cancel_order(1));
    let first = first.unwrap_err();
    assert_eq!((first.kind(), first.attempts()), (ErrorKind::Response, 2));
    let second = second.unwrap_err();
    assert_eq!((second.kind(), second.attempts()), (ErrorKind::RateLimit, 0));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_retries_no_call_waits() {
    let refused = || Reply::json(429, LIMITED).header("Retry-After: 300");
    let server = ScriptedServer::start([refused(), refused(), list(59, 60)]).await;
    let client = Client::builder(&server.base_url, "sto_test_x").without_retries();
    let client = client.build().unwrap();
    for _ in 0..2 {
        let error = client.list_orders().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Response, 1));
    }
    client.list_orders().await.unwrap();
}
