//! The server that the client's crate has for users' tests answers as the document says.

use store_orders_client::testing::{KEY, Server};
use store_orders_client::{ErrorCode, Order, Pet};
use testbed::contract::{Tap, contract};

/// Each operation as a request that its path and method lead to.
const OPERATIONS: [(&str, &str); 3] =
    [("GET", "/store/orders"), ("DELETE", "/store/orders/1"), ("GET", "/pets/7")];

/// Sends a request through the tap, which checks the response; its status.
async fn send(tap: &Tap, key: Option<&str>, method: &str, path: &str) -> u16 {
    let method = method.parse().unwrap();
    let request = reqwest::Client::new().request(method, format!("{}{path}", tap.base_url()));
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn it_shows_every_documented_answer_and_no_other() {
    let mut dated = Order::new(1, 7, 2);
    dated.complete = true;
    dated.ship_date = Some("2026-12-24T09:30:00.5Z".parse().unwrap());
    let server = Server::start([dated, Order::new(2, 8, 1)]).unwrap();
    server.ship(2);
    server.add_pet(Pet::new(7, "Rex"));
    let address = server.base_url().replace("http://", "").replace("/v1", "");
    let tap = Tap::before(address.parse().unwrap());

    for (method, path, status) in [
        ("GET", "/store/orders", 200),
        ("HEAD", "/store/orders", 200),
        ("GET", "/pets/7", 200),
        ("HEAD", "/pets/7", 200),
        ("GET", "/pets/8", 404),
        ("DELETE", "/store/orders/1", 204),
        ("DELETE", "/store/orders/1", 404),
        ("DELETE", "/store/orders/2", 409),
        ("GET", "/pets/07", 400),
        ("DELETE", "/store/orders/+1", 400),
        ("GET", "/store", 404),
        ("GET", "/store/orders/", 404),
        ("GET", "/pets/7/8", 404),
        ("POST", "/store/orders", 405),
        ("GET", "/store/orders/1", 405),
        ("PUT", "/pets/7", 405),
    ] {
        assert_eq!(send(&tap, Some(KEY), method, path).await, status, "{method} {path}");
    }
    for (method, path) in OPERATIONS {
        for key in [None, Some("sto_test_x")] {
            assert_eq!(send(&tap, key, method, path).await, 401, "{method} {path}");
        }
        for (code, status) in [
            (ErrorCode::RateLimitExceeded, 429),
            (ErrorCode::KeyBanned, 429),
            (ErrorCode::InternalError, 500),
            (ErrorCode::ServiceUnavailable, 503),
        ] {
            server.fail_next(code.clone());
            assert_eq!(send(&tap, Some(KEY), method, path).await, status, "{code}");
        }
    }
    server.limit(0);
    assert_eq!(send(&tap, Some(KEY), "GET", "/store/orders").await, 429);

    assert_eq!(tap.observer().take_violations(), Vec::<String>::new());
    let unseen = contract().unseen("v1", &tap.observer().seen());
    assert!(unseen.is_empty(), "documented and never seen: {unseen:#?}");
}
