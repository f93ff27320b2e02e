//! Requests without a valid key are counted by address, to limit floods.

use std::time::Duration;
use store_orders_api::plans::Plan;
use test_server::{Answer, Fault, TestServer, TestSetup, unknown_key};
use testbed::{Key, wait_until};

async fn send_without_key(server: &TestServer, forwarded_for: &[&str]) -> Answer {
    let headers: Vec<_> = forwarded_for.iter().map(|value| ("x-forwarded-for", *value)).collect();
    server.send("GET", "/v1/store/orders", &headers).await
}

async fn server(proxies: &[&str]) -> (TestServer, Key) {
    let mut setup = TestSetup::new().with_unauthenticated_per_minute(5);
    let networks = proxies.iter().map(|network| network.parse().unwrap()).collect();
    setup.config.trusted_proxies = networks;
    let key = setup.key(Plan::Free);
    (setup.serve().await, key)
}

#[tokio::test]
async fn a_flood_gets_429_and_a_valid_key_still_gets_in() {
    let (server, key) = server(&[]).await;
    let wrong = Key { id: String::new(), text: format!("{}x", key.text) };
    for remaining in (0..5).rev() {
        let answer = if remaining % 2 == 0 {
            send_without_key(&server, &[]).await
        } else {
            server.list_with(&wrong).await
        };
        answer.assert_error(401, "unauthorized");
        assert_eq!(answer.rate_limit(), (5, remaining, 60));
    }
    server.setup.clock.advance(Duration::from_millis(59_001));
    for _ in 0..20 {
        let refused = send_without_key(&server, &[]).await;
        assert_eq!(refused.assert_limited("rate_limit_exceeded"), 1);
        assert_eq!(refused.rate_limit(), (5, 0, 60));
        assert!(!refused.headers.contains_key("www-authenticate"));
        server.list_with(&wrong).await.assert_limited("rate_limit_exceeded");
    }
    let answer = server.list_with(&key).await;
    assert_eq!((answer.status.as_u16(), answer.rate_limit()), (200, (60, 59, 120)));
    let fresh = server.setup.key(Plan::Free);
    assert_eq!(server.list_with(&fresh).await.status, 200, "a key that was issued just now");
    server.setup.clock.advance(Duration::from_millis(999));
    send_without_key(&server, &[]).await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn only_a_trusted_proxy_names_an_address() {
    let (server, _) = server(&["10.0.0.0/8", "::1/128"]).await;
    for number in 0..5 {
        let answer = send_without_key(&server, &[&format!("192.0.2.{number}")]).await;
        assert_eq!(answer.number("x-ratelimit-remaining"), 4 - number);
    }
    send_without_key(&server, &["192.0.2.77"]).await.assert_limited("rate_limit_exceeded");
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_address_has_its_own_minute() {
    let (server, _) = server(&["127.0.0.0/8", "10.0.0.0/8"]).await;
    for (forwarded_for, remaining) in [
        (vec!["192.0.2.1"], 4),
        (vec!["192.0.2.2"], 4),
        (vec!["203.0.113.1, 192.0.2.1"], 3),
        (vec!["203.0.113.1", "192.0.2.1, 10.1.2.3"], 2),
        (vec!["::ffff:192.0.2.1"], 1),
        (vec!["2001:db8::1"], 4),
        (vec!["2001:db8:0:0:ffff::2"], 3),
        (vec!["2001:db8:0:1::1"], 4),
        (vec!["192.0.2.1, nonsense"], 4),
        (vec![], 3),
        (vec!["192.0.2.1"], 0),
    ] {
        let answer = send_without_key(&server, &forwarded_for).await;
        answer.assert_error(401, "unauthorized");
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining, "{forwarded_for:?}");
    }
    send_without_key(&server, &["192.0.2.1"]).await.assert_limited("rate_limit_exceeded");
    send_without_key(&server, &["192.0.2.2"]).await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn with_a_limit_of_0_every_request_without_a_key_gets_429() {
    let setup = TestSetup::new().with_unauthenticated_per_minute(0);
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let refused = send_without_key(&server, &[]).await;
    assert_eq!(refused.assert_limited("rate_limit_exceeded"), 60);
    assert_eq!(server.list_with(&key).await.status, 200);
}

/// During an outage, the server cannot check keys. Requests with an unchecked key must not use up
/// the limit of their address, because other callers may share the address.
#[tokio::test]
async fn requests_whose_key_cannot_be_checked_are_not_counted_by_address() {
    let mut setup = TestSetup::new().with_unauthenticated_per_minute(5);
    let store = setup.add_faulty_store();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    assert_eq!(send_without_key(&server, &[]).await.rate_limit(), (5, 4, 60));
    store.set(Fault::Fails);
    wait_until("keys cannot be checked", || async {
        server.list_with(&unknown_key()).await.status == 503
    })
    .await;
    for _ in 0..10 {
        let refused = server.list_with(&unknown_key()).await;
        refused.assert_error(503, "service_unavailable");
        assert_eq!(refused.rate_limit(), (5, 4, 60));
    }
    store.set(Fault::None);
    wait_until("keys are checked again", || async { server.list_with(&key).await.status == 200 })
        .await;
    let unauthenticated = send_without_key(&server, &[]).await;
    unauthenticated.assert_error(401, "unauthorized");
    assert_eq!(unauthenticated.rate_limit(), (5, 3, 60));
}
