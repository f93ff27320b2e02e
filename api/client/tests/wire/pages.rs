//! Tests version 2 of the client: pages, the stream over all pages, errors and cancellations.

use crate::scripted::{Reply, ScriptedServer};
use std::time::Duration;
use store_orders_client::v2::{OrderStatus, Orders};
use store_orders_client::{
    CancelOrderOutcome, Client, ClientV2, ErrorCode, ErrorKind, RetryPolicy,
};

const UNAVAILABLE: &str = r#"{"code":"service_unavailable","message":"Later.","status":503}"#;

fn page(ids: impl IntoIterator<Item = i64>, next_cursor: Option<&str>) -> Reply {
    let order =
        |id| format!(r#"{{"id":{id},"petId":7,"quantity":1,"complete":false,"status":"pending"}}"#);
    let orders = ids.into_iter().map(order).collect::<Vec<_>>().join(",");
    let next = next_cursor.map(|cursor| format!(r#","nextCursor":"{cursor}""#));
    Reply::json(200, &format!(r#"{{"orders":[{orders}]{}}}"#, next.unwrap_or_default()))
}

async fn start(replies: impl IntoIterator<Item = Reply>) -> (ScriptedServer, ClientV2) {
    let server = ScriptedServer::start(replies).await;
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2)).attempts(2);
    let builder = Client::builder(&server.base_url, "sto_test_x");
    let client = builder.retry(policy).build().unwrap().v2();
    (server, client)
}

fn targets(server: &ScriptedServer) -> Vec<String> {
    let target = |head: &String| head.split(' ').nth(1).unwrap().to_string();
    server.requests().iter().map(target).collect()
}

async fn ids_until_the_end(orders: &mut Orders) -> Vec<i64> {
    let mut ids = Vec::new();
    while let Some(order) = orders.next().await {
        ids.push(*order.unwrap().id);
    }
    ids
}

#[tokio::test]
async fn a_request_has_the_set_filters_and_returns_one_page() {
    let (server, client) = start([
        page([1, 2], Some("AQAA_-x")).header("X-RateLimit-Limit: 9"),
        page([], None).header("x-request-id: b"),
    ])
    .await;
    let first = client.list_orders().send().await.unwrap();
    let ids: Vec<_> = first.orders.iter().map(|order| *order.id).collect();
    assert_eq!((ids, first.next_cursor.as_deref()), (vec![1, 2], Some("AQAA_-x")));
    assert_eq!(first.attempts(), 1);
    let mut iterated = Vec::new();
    for order in &first {
        iterated.push(*order.id);
    }
    assert_eq!(iterated, [1, 2]);
    assert!(first.clone().into_iter().eq(first.into_inner().orders));

    let day = |text: &str| chrono::DateTime::parse_from_rfc3339(text).unwrap();
    let request = client.list_orders().pet_id(-7).status(OrderStatus::Shipped).complete(true);
    let request = request.ship_date_from(day("2026-12-01T02:00:00+02:00"));
    let request = request.ship_date_before(day("2026-12-24T00:00:00.5Z")).limit(50);
    let last = request.cursor("AQAA_-x").send().await.unwrap();
    assert!(last.orders.is_empty() && last.next_cursor.is_none());
    assert_eq!(last.request_id(), Some("b"));
    assert_eq!(
        targets(&server),
        [
            "/v2/store/orders",
            "/v2/store/orders?complete=true&cursor=AQAA_-x&limit=50&petId=-7\
             &shipDateBefore=2026-12-24T00%3A00%3A00.500Z&shipDateFrom=2026-12-01T00%3A00%3A00Z\
             &status=shipped",
        ]
    );
}

#[tokio::test]
async fn a_stream_has_the_orders_of_all_pages_and_requests_each_on_demand() {
    // The second page is empty but not the last.
    let pages = [page([1, 2], Some("a")), page([], Some("b")), page([9], None)];
    let (server, client) = start(pages).await;
    let mut orders = client.list_orders().pet_id(7).limit(2).stream();
    assert_eq!(server.requests().len(), 0);
    for id in [1, 2] {
        assert_eq!(*orders.next().await.unwrap().unwrap().id, id);
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(ids_until_the_end(&mut orders).await, [9]);
    assert!(orders.next().await.is_none());
    let query = "/v2/store/orders?limit=2&petId=7";
    let next = |cursor: &str| query.replace('?', &format!("?cursor={cursor}&"));
    assert_eq!(targets(&server), [query.to_string(), next("a"), next("b")]);
}

#[tokio::test]
async fn a_page_of_a_stream_is_retried_like_any_call() {
    let replies =
        [page([1], Some("a")), Reply::json(503, UNAVAILABLE), page([2], Some("b")), Reply::reset()];
    let (server, client) = start(replies.into_iter().chain([page([3], None)])).await;
    let mut orders = client.list_orders().stream();
    assert_eq!(ids_until_the_end(&mut orders).await, [1, 2, 3]);
    let cursors = ["", "?cursor=a", "?cursor=a", "?cursor=b", "?cursor=b"];
    assert_eq!(targets(&server), cursors.map(|cursor| format!("/v2/store/orders{cursor}")));
}

#[tokio::test]
async fn a_stream_ends_with_an_error_and_its_cursor_continues_the_list() {
    let unavailable = || Reply::json(503, UNAVAILABLE).header("x-request-id: r");
    let pages = [page([1, 2], Some("a")), unavailable(), unavailable(), page([3], None)];
    let (server, client) = start(pages).await;
    let request = client.list_orders().pet_id(7);
    let mut orders = request.clone().stream();
    assert_eq!(*orders.next().await.unwrap().unwrap().id, 1);
    assert_eq!(*orders.next().await.unwrap().unwrap().id, 2);
    let error = orders.next().await.unwrap().unwrap_err();
    assert!(orders.next().await.is_none());
    assert_eq!((error.code(), error.attempts()), (Some(ErrorCode::ServiceUnavailable), 2));
    assert_eq!(
        error.to_string(),
        "503 service_unavailable: Later. (request id r, after 2 attempts, at cursor a)"
    );
    let mut rest = request.cursor(error.cursor().unwrap()).stream();
    assert_eq!(ids_until_the_end(&mut rest).await, [3]);
    assert_eq!(targets(&server)[3], "/v2/store/orders?cursor=a&petId=7");
}

#[tokio::test]
async fn a_truncated_page_is_an_error_with_its_cursor_and_not_a_shorter_page() {
    let (_server, client) = start([page([1], Some("a")), page([2, 3], None).cut_at(100)]).await;
    let mut orders = client.list_orders().stream();
    assert_eq!(*orders.next().await.unwrap().unwrap().id, 1);
    let error = orders.next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.cursor()), (ErrorKind::IncompleteBody, Some("a")));
    let (_server, client) = start([page([1], None).cut_at(40)]).await;
    let error = client.list_orders().stream().next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.cursor()), (ErrorKind::IncompleteBody, None));
}

#[tokio::test]
async fn an_unknown_status_is_kept() {
    let frozen = page([1], None).to_http1().replace("pending", "frozen");
    let body = frozen.split("\r\n\r\n").nth(1).unwrap();
    let (_server, client) = start([Reply::json(200, body)]).await;
    let page = client.list_orders().send().await.unwrap();
    let status = &page.orders[0].status;
    assert_eq!(*status, OrderStatus::Other("frozen".to_string()));
    assert_eq!(status.to_string(), "frozen");
}

#[tokio::test]
async fn an_abandoned_wait_for_an_order_loses_none_and_frees_its_permit() {
    let replies = [Reply::silence(), Reply::json(204, ""), page([1, 2], None)];
    let server = ScriptedServer::start(replies).await;
    let builder = Client::builder(&server.base_url, "sto_test_x");
    let client = builder.max_in_flight(1).build().unwrap().v2();
    let mut orders = client.list_orders().stream();
    let requested = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        order = orders.next() => panic!("{order:?} came"),
        () = requested => {}
    }
    let other = tokio::time::timeout(Duration::from_secs(10), client.cancel_order(9)).await;
    other.expect("the permit was not freed").unwrap();
    assert_eq!(ids_until_the_end(&mut orders).await, [1, 2]);
    let page = "/v2/store/orders";
    assert_eq!(targets(&server), [page, "/v2/store/orders/9", page]);
}

#[tokio::test]
async fn an_order_is_cancelled_under_v2() {
    let not_found = r#"{"code":"order_not_found","message":"None.","status":404}"#;
    let replies = [Reply::json(204, ""), Reply::close(), Reply::json(404, not_found)];
    let (server, client) = start(replies).await;
    let cancelled = client.cancel_order(1).await.unwrap();
    assert_eq!(*cancelled, CancelOrderOutcome::Cancelled);
    let outcome = client.cancel_order(2).await.unwrap();
    assert_eq!(*outcome, CancelOrderOutcome::AlreadyGone);
    assert_eq!((outcome.status().as_u16(), outcome.attempts()), (404, 2));
    let expected = ["1", "2", "2"].map(|id| format!("DELETE /v2/store/orders/{id} "));
    for (request, expected) in server.requests().iter().zip(expected) {
        assert!(request.starts_with(&expected), "{request}");
    }
}

#[tokio::test]
async fn an_order_is_cancelled_if_it_is_unchanged() {
    let not_found = r#"{"code":"order_not_found","message":"None.","status":404}"#;
    let changed = r#"{"code":"precondition_failed","message":"Changed.","status":412}"#;
    let replies = [
        Reply::json(412, changed),
        Reply::close(),
        Reply::json(412, changed),
        Reply::close(),
        Reply::json(404, not_found),
    ];
    let (server, client) = start(replies).await;
    // A request to cancel a cancelled order gets a 404, never a 412. So if a retry gets a 412, the
    // first attempt did not cancel the order.
    for attempts in [1, 2] {
        let error = client.cancel_order_if_unchanged(1, "\"a-1\"").await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::PreconditionFailed));
        assert_eq!(error.attempts(), attempts);
    }
    let outcome = client.cancel_order_if_unchanged(1, "\"a-1\"").await.unwrap();
    assert_eq!((*outcome, outcome.attempts()), (CancelOrderOutcome::AlreadyGone, 2));
    assert_eq!(server.requests().len(), 5);
    for request in server.requests() {
        assert!(request.contains("if-match: \"a-1\"\r\n"), "{request}");
    }
}

#[test]
fn the_client_of_version_2_has_its_base_path_and_shows_no_key() {
    let key = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";
    for base_url in
        ["https://orders.example/v1", "https://orders.example/v2/", "https://orders.example/"]
    {
        let client = Client::new(base_url, key).unwrap().v2();
        for shown in [format!("{client:?}"), format!("{:?}", client.list_orders().stream())] {
            assert!(shown.contains("\"https://orders.example/v2\""), "{shown}");
            assert!(!shown.contains("0123456789"), "{shown}");
        }
    }
}
