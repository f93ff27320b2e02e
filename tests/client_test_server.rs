//! The server that the client's crate has for users' tests answers as the document says.

use store_orders_client::testing::{KEY, Server};
use store_orders_client::{ErrorCode, Order, Pet};
use testbed::contract::{Tap, contract};

/// Each operation as a request that its path and method lead to.
const OPERATIONS: [(&str, &str); 5] = [
    ("GET", "/v1/store/orders"),
    ("DELETE", "/v1/store/orders/1"),
    ("GET", "/v1/pets/7"),
    ("GET", "/v2/store/orders"),
    ("DELETE", "/v2/store/orders/1"),
];

/// Sends a request through the tap, which checks the response; its status.
async fn send(tap: &Tap, key: Option<&str>, method: &str, path: &str) -> u16 {
    let method = method.parse().unwrap();
    let request = reqwest::Client::new().request(method, format!("http://{}{path}", tap.address()));
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
    let server = Server::start([dated, Order::new(2, 8, 1), Order::new(3, 8, 1)]).unwrap();
    server.ship(2);
    server.add_pet(Pet::new(7, "Rex"));
    let address = server.base_url().replace("http://", "").replace("/v1", "");
    let tap = Tap::before(address.parse().unwrap());

    for (method, path, status) in [
        ("GET", "/v1/store/orders", 200),
        ("HEAD", "/v1/store/orders", 200),
        ("GET", "/v1/pets/7", 200),
        ("HEAD", "/v1/pets/7", 200),
        ("GET", "/v1/pets/8", 404),
        ("DELETE", "/v1/store/orders/1", 204),
        ("DELETE", "/v1/store/orders/1", 404),
        ("DELETE", "/v1/store/orders/2", 409),
        ("GET", "/v1/pets/07", 400),
        ("DELETE", "/v1/store/orders/+1", 400),
        ("GET", "/v1/store", 404),
        ("GET", "/v1/store/orders/", 404),
        ("GET", "/v1/pets/7/8", 404),
        ("POST", "/v1/store/orders", 405),
        ("GET", "/v1/store/orders/1", 405),
        ("PUT", "/v1/pets/7", 405),
        ("GET", "/v2/store/orders", 200),
        ("GET", "/v2/store/orders?limit=1&complete=false", 200),
        ("HEAD", "/v2/store/orders?petId=8", 200),
        ("GET", "/v2/store/orders?limit=0", 400),
        ("GET", "/v2/store/orders?pet=7", 400),
        ("GET", "/v2/store/orders?status=pending&status=shipped", 400),
        ("GET", "/v2/store/orders?cursor=x", 400),
        ("GET", "/v2/store/orders?shipDateFrom=2026", 400),
        ("DELETE", "/v2/store/orders/3", 204),
        ("DELETE", "/v2/store/orders/3", 404),
        ("DELETE", "/v2/store/orders/2", 409),
        ("DELETE", "/v2/store/orders/02", 400),
        ("GET", "/v2/pets/7", 404),
        ("POST", "/v2/store/orders", 405),
        ("GET", "/v2/store/orders/2", 405),
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
    assert_eq!(send(&tap, Some(KEY), "GET", "/v1/store/orders").await, 429);

    assert_eq!(tap.observer().take_violations(), Vec::<String>::new());
    for version in ["v1", "v2"] {
        let unseen = contract().unseen(version, &tap.observer().seen());
        assert!(unseen.is_empty(), "documented and never seen: {unseen:#?}");
    }
}
