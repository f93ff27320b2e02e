//! What the server for users' tests does for a client.

use std::time::Duration;
use store_orders_client::testing::{KEY, Server};
use store_orders_client::{CancelOrderOutcome, Client, ErrorCode, Order, Pet};

fn server() -> Server {
    Server::start([Order::new(1, 7, 2), Order::new(2, 8, 1)]).unwrap()
}

fn client(server: &Server) -> Client {
    Client::builder(server.base_url(), KEY).without_retries().build().unwrap()
}

#[tokio::test]
async fn orders_are_listed_and_cancelled_unless_they_have_shipped() {
    let server = server();
    let client = client(&server);
    server.ship(2);
    let orders = client.list_orders().await.unwrap();
    assert_eq!(*orders, [Order::new(1, 7, 2), Order::new(2, 8, 1)]);
    let limit = orders.rate_limit().unwrap();
    assert_eq!((limit.limit, limit.remaining), (1_000, 999));

    client.cancel_order(1).await.unwrap();
    let error = client.cancel_order(1).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OrderNotFound));
    let error = client.cancel_order(2).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OrderAlreadyShipped));
    assert_eq!(server.orders(), [Order::new(2, 8, 1)]);
}

#[tokio::test]
async fn calls_take_integers_of_fewer_bits() {
    let server = server();
    let client = client(&server);
    client.cancel_order(1_i32).await.unwrap();
    client.cancel_order(2_u32).await.unwrap();
    assert!(server.orders().is_empty());
}

#[tokio::test]
#[expect(deprecated, reason = "the server has the deprecated operation, too")]
async fn pets_are_those_that_were_added() {
    let server = server();
    server.add_pet(Pet::new(7, "Rex"));
    let client = client(&server);
    assert_eq!(*client.get_pet(7).await.unwrap(), Pet::new(7, "Rex"));
    let error = client.get_pet(8).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::PetNotFound));
}

#[tokio::test]
async fn another_key_is_unauthorized() {
    let server = server();
    for key in ["sto_test_x", &format!("{KEY}0")] {
        let error = Client::new(server.base_url(), key).unwrap().list_orders().await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::Unauthorized));
    }
}

#[tokio::test]
async fn requests_above_the_limit_are_refused_until_the_minute_is_over() {
    let server = server();
    server.limit(2);
    let client = client(&server);
    for remaining in [1, 0] {
        let orders = client.list_orders().await.unwrap();
        assert_eq!(orders.rate_limit().unwrap().remaining, remaining);
    }
    let error = client.cancel_order(1).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::RateLimitExceeded));
    let wait = error.retry_after().unwrap();
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(61), "{wait:?}");
    assert_eq!(server.orders().len(), 2);
    server.limit(2);
    client.cancel_order(1).await.unwrap();
}

#[tokio::test]
async fn errors_come_on_demand_and_in_turn() {
    let server = server();
    let codes = [ErrorCode::KeyBanned, ErrorCode::InternalError, ErrorCode::from("order_frozen")];
    for code in &codes {
        server.fail_next(code.clone());
    }
    let client = client(&server);
    for (code, status) in codes.into_iter().zip([429, 500, 500]) {
        let error = client.cancel_order(1).await.unwrap_err();
        assert_eq!((error.status().unwrap().as_u16(), error.code()), (status, Some(code)));
    }
    client.cancel_order(1).await.unwrap();
}

#[tokio::test]
async fn a_lost_response_is_one_of_a_request_that_was_carried_out() {
    let server = server();
    server.lose_next_response();
    let gone = Client::new(server.base_url(), KEY).unwrap().cancel_order(1).await.unwrap();
    assert_eq!((*gone, gone.attempts()), (CancelOrderOutcome::AlreadyGone, 2));
    server.lose_next_response();
    let error = client(&server).cancel_order(2).await.unwrap_err();
    assert_eq!((error.status(), server.orders().len()), (None, 0));
}

#[tokio::test]
async fn a_list_that_has_not_changed_is_not_sent_again() {
    let server = server();
    let client = client(&server);
    let orders = client.list_orders().await.unwrap();
    let etag = orders.etag().unwrap();
    let same = client.list_orders_if_changed(etag).await.unwrap();
    assert_eq!((same.status().as_u16(), &*same), (304, &None));
    assert_eq!(same.rate_limit().unwrap().remaining, 998);
    client.cancel_order(1).await.unwrap();
    let other = client.list_orders_if_changed(etag).await.unwrap();
    assert_eq!(other.as_ref().map(Vec::len), Some(1));
}

#[cfg(feature = "v2-beta")]
#[tokio::test]
async fn version_2_has_the_orders_in_pages_with_filters_and_their_status() {
    use store_orders_client::v2::{Client, ListOrders, OrderStatus};

    let order = |id: i64| {
        let mut order = Order::new(id, id % 2, 1);
        order.complete = id > 6;
        order.ship_date = (id != 3).then(|| format!("2026-12-{id:02}T00:00:00Z").parse().unwrap());
        order
    };
    let server = Server::start((1..=9).map(order)).unwrap();
    server.ship(5);
    let client = Client::builder(server.v2_base_url(), KEY).without_retries().build().unwrap();
    let day = |day: u32| -> chrono::DateTime<chrono::Utc> {
        format!("2026-12-{day:02}T00:00:00Z").parse().unwrap()
    };
    let list = || client.list_orders();
    let cases: [(ListOrders, &[i64]); 6] = [
        (list(), &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (list().pet_id(1).status(OrderStatus::Pending), &[1, 3, 7, 9]),
        (list().status(OrderStatus::Shipped), &[5]),
        (list().complete(true), &[7, 8, 9]),
        (list().ship_date_from(day(2)).ship_date_before(day(5)), &[2, 4]),
        (list().pet_id(7), &[]),
    ];
    for (request, expected) in cases {
        for limit in [1, 3, 1_000] {
            let (mut orders, mut ids) = (request.clone().limit(limit).stream(), Vec::new());
            while let Some(order) = orders.next().await {
                ids.push(*order.unwrap().id);
            }
            assert_eq!(ids, expected);
        }
    }
    let page = client.list_orders().limit(2).send().await.unwrap();
    let cursor = page.next_cursor.as_deref().unwrap();
    let link = format!("</v2/store/orders?cursor={cursor}&limit=2>; rel=\"next\"");
    assert_eq!(page.headers()["link"], link);
    for (request, name) in [
        (list().limit(1_001), "limit"),
        (list().limit(0), "limit"),
        (list().cursor("x"), "cursor"),
        (list().status(OrderStatus::from("frozen")), "status"),
        (list().cursor(cursor).pet_id(7), "cursor"),
    ] {
        let error = request.send().await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::InvalidParameter));
        assert!(error.body().unwrap().message.contains(name), "{error}");
    }
    client.cancel_order(1).await.unwrap();
    assert_eq!(server.orders().len(), 8);
}
