//! Tests `ETag`, `If-None-Match` and `If-Match`. A client whose copy is current gets 304 without a
//! body. With `If-Match`, an order is cancelled only in the state that the client has seen.

use store_orders::store::{KeyCommands, OrderCommands, OrderUpdate};
use store_orders_api::plans::Plan;
use store_orders_client::{CancelOrderOutcome, ErrorCode};
use test_server::{Answer, Fault, TestServer, TestSetup, error_of};
use testbed::{Key, wait_until};

const LIST: &str = "/v1/store/orders";

/// Paths whose responses have an entity tag. At the start, orders 1 to 8 are pending, 9 has shipped
/// and 10 is cancelled.
const TAGGED: [&str; 6] = [
    LIST,
    "/v2/store/orders",
    "/v2/store/orders?limit=2&status=pending",
    "/v2/store/orders/1",
    "/v2/store/orders/9",
    "/v2/store/orders/10",
];

async fn serve(plan: Plan) -> (TestServer, Key) {
    let setup = TestSetup::new();
    let key = setup.key(plan);
    setup.pending((1..=8).chain([10])).shipped(9);
    let server = setup.serve().await;
    let cancelled = server.send_with(&key, "DELETE", "/v1/store/orders/10").await;
    assert_eq!(cancelled.status, 204);
    (server, key)
}

async fn send_if_none_match(
    server: &TestServer,
    key: &Key,
    method: &str,
    path: &str,
    known: &str,
) -> Answer {
    server.send_with_headers(key, method, path, &[("if-none-match", known)]).await
}

async fn tag(server: &TestServer, key: &Key, path: &str) -> String {
    let answer = server.send_with(key, "GET", path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.assert_common_headers();
    answer.text("etag").to_string()
}

async fn tags(server: &TestServer, key: &Key) -> Vec<String> {
    let mut tags = Vec::new();
    for path in TAGGED {
        tags.push(tag(server, key, path).await);
    }
    tags
}

#[tokio::test]
async fn a_matching_tag_gets_304_and_the_request_counts() {
    let (server, key) = serve(Plan::Business).await;
    for path in TAGGED {
        let first = server.send_with(&key, "GET", path).await;
        let tag = first.text("etag").to_string();
        // Only the tag of a list is weak, because only lists are sent in several encodings.
        let quoted = tag.trim_start_matches("W/");
        assert_eq!(quoted == tag, path.starts_with("/v2/store/orders/"), "{path}: {tag}");
        assert!(quoted.starts_with('"') && tag.len() < 60, "{tag}");
        let mut remaining = first.number("x-ratelimit-remaining");
        let weak = format!("W/{quoted}");
        for known in [&tag, &weak, quoted, &format!("\"a\", {tag}"), "*"] {
            for method in ["GET", "HEAD"] {
                let answer = send_if_none_match(&server, &key, method, path, known).await;
                assert_eq!(answer.status, 304, "{method} {path} {known}");
                assert!(answer.body.is_empty());
                for absent in ["content-length", "content-type", "transfer-encoding"] {
                    assert!(!answer.headers.contains_key(absent), "{absent}: {answer:?}");
                }
                assert_eq!((answer.text("etag"), answer.text("vary")), (&*tag, "Accept-Encoding"));
                answer.assert_common_headers();
                remaining -= 1;
                assert_eq!(answer.number("x-ratelimit-remaining"), remaining, "{path}");
            }
        }
        for other in ["\"a\"", "", "a", "W/\"0000000000000000-1-00000000\""] {
            let answer = send_if_none_match(&server, &key, "GET", path, other).await;
            assert_eq!((answer.status.as_u16(), answer.text("etag")), (200, &*tag), "{other}");
            assert_eq!(answer.body, first.body);
        }
        let head = server.send_with(&key, "HEAD", path).await;
        assert_eq!(head.text("etag"), tag);
    }
}

#[tokio::test]
async fn tags_are_the_same_compressed_and_after_a_restart() {
    let (server, key) = serve(Plan::Business).await;
    let before = tags(&server, &key).await;
    for (path, tag) in TAGGED.iter().zip(&before) {
        let gzip = [("accept-encoding", "gzip")];
        let zipped = server.send_with_headers(&key, "GET", path, &gzip).await;
        assert_eq!(zipped.text("etag"), tag, "{path}");
    }
    let server = server.stop().await.serve().await;
    assert_eq!(tags(&server, &key).await, before);
    assert_eq!(tags(&server, &key).await, before);
}

#[tokio::test]
async fn each_change_changes_the_tags_of_the_responses_that_show_it() {
    let (server, key) = serve(Plan::Business).await;
    let store = &server.setup.store;
    let mut before = tags(&server, &key).await;
    let another = server.setup.another_key("business-0");
    store.revoke_key(&another.id, 0).unwrap();
    server.setup.key(Plan::Free);
    assert_eq!(tags(&server, &key).await, before, "a change of keys");
    // The page `two` shows orders 1 and 2. In version 1, orders have no status, so a shipment does
    // not change the list.
    let two = "/v2/store/orders?limit=2&status=pending";
    for (change, shown_in) in [
        ("a cancellation", vec![LIST, "/v2/store/orders"]),
        ("a shipment", vec!["/v2/store/orders"]),
        ("an import", vec![LIST, "/v2/store/orders"]),
        ("a cancellation of order 1", vec![LIST, "/v2/store/orders", two, "/v2/store/orders/1"]),
    ] {
        match change {
            "a shipment" => drop(store.ship_orders(&[7]).unwrap()),
            "an import" => drop(server.setup.pending([11])),
            _ => {
                let id = if change.ends_with('1') { 1 } else { 8 };
                let path = format!("/v2/store/orders/{id}");
                assert_eq!(server.send_with(&key, "DELETE", &path).await.status, 204);
            }
        }
        for (path, tag) in TAGGED.iter().zip(&before) {
            let answer = send_if_none_match(&server, &key, "GET", path, tag).await;
            let expected = if shown_in.contains(path) { 200 } else { 304 };
            assert_eq!(answer.status, expected, "{change}: {path}");
        }
        before = tags(&server, &key).await;
    }
}

#[tokio::test]
async fn equivalent_queries_have_the_same_tag_and_others_do_not() {
    let (server, key) = serve(Plan::Business).await;
    let page = async |query: &str| tag(&server, &key, &format!("/v2/store/orders?{query}")).await;
    let all = page("").await;
    assert_eq!(page("limit=100").await, all);
    let pending = page("petId=7&status=pending").await;
    assert_eq!(page("status=pending&petId=7&limit=100").await, pending);
    let dated = page("shipDateFrom=2026-12-24T09:30:00Z").await;
    assert_eq!(page("shipDateFrom=2026-12-24T10:30:00%2B01:00").await, dated);
    let first = server.send_with(&key, "GET", "/v2/store/orders?limit=2").await;
    let cursor = first.json()["nextCursor"].as_str().unwrap().to_string();
    let second = page(&format!("limit=2&cursor={cursor}")).await;
    let list = tag(&server, &key, LIST).await;
    let order = tag(&server, &key, "/v2/store/orders/1").await;
    let other_order = tag(&server, &key, "/v2/store/orders/2").await;
    let two = first.text("etag").to_string();
    let different = [all, pending, dated, two, second, list, order, other_order];
    let distinct: std::collections::BTreeSet<_> = different.iter().collect();
    assert_eq!(distinct.len(), different.len(), "{different:?}");
}

#[tokio::test]
async fn errors_ignore_if_none_match() {
    let mut setup = TestSetup::new();
    let key = setup.enterprise_key(7, 100);
    setup.pending([1]);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let answer = server.send("GET", LIST, &[("if-none-match", "*")]).await;
    answer.assert_error(401, "unauthorized");
    for (path, status, code) in [
        ("/v2/store/orders/5", 404, "order_not_found"),
        ("/v2/store/orders/x", 400, "invalid_parameter"),
        ("/v2/store/orders?limit=0", 400, "invalid_parameter"),
        ("/v2/store/orders?cursor=x", 400, "invalid_parameter"),
    ] {
        send_if_none_match(&server, &key, "GET", path, "*").await.assert_error(status, code);
    }
    store.set(Fault::Fails);
    send_if_none_match(&server, &key, "GET", LIST, "*")
        .await
        .assert_error(503, "service_unavailable");
    store.set(Fault::None);
    // Cancellations ignore `If-None-Match`, so this one is executed.
    assert_eq!(
        send_if_none_match(&server, &key, "DELETE", "/v1/store/orders/1", "*").await.status,
        204
    );
    assert_eq!(send_if_none_match(&server, &key, "GET", LIST, "*").await.status, 304);
    send_if_none_match(&server, &key, "GET", LIST, "*").await.assert_limited("rate_limit_exceeded");
}

fn order_path(id: i64) -> String {
    format!("/v2/store/orders/{id}")
}

async fn cancel_if_match(server: &TestServer, key: &Key, id: i64, tags: &str) -> Answer {
    server.send_with_headers(key, "DELETE", &order_path(id), &[("if-match", tags)]).await
}

fn set_complete(server: &TestServer, id: i64) {
    let update = OrderUpdate { id, ship_date: None, complete: Some(true) };
    server.setup.store.update_orders(&[update]).unwrap();
}

#[tokio::test]
async fn an_order_is_cancelled_only_if_its_tag_matches() {
    let (server, key) = serve(Plan::Business).await;
    let old = tag(&server, &key, &order_path(1)).await;
    set_complete(&server, 1);
    let current = tag(&server, &key, &order_path(1)).await;
    let other = tag(&server, &key, &order_path(2)).await;
    let weak = format!("W/{current}");
    for tags in [
        &*old,
        &other,
        &weak,
        &format!("{other}, {weak}"),
        current.trim_matches('"'),
        &current[..current.len() - 1],
        &format!("a, {current}"),
        &format!("*, {current}"),
        "",
        ",",
    ] {
        let answer = cancel_if_match(&server, &key, 1, tags).await;
        let message = answer.assert_error(412, "precondition_failed");
        assert!(message.starts_with("Order 1 "), "{message}");
        answer.assert_common_headers();
        assert_eq!(tag(&server, &key, &order_path(1)).await, current, "{tags}");
    }
    // A change of order 8 must not change the tags of the other orders.
    server.setup.store.ship_orders(&[8]).unwrap();
    let list = format!("\"a\",{old} , {current}");
    for (id, tags) in [(1, &*list), (2, &*other), (3, "*"), (4, " * ")] {
        assert_eq!(cancel_if_match(&server, &key, id, tags).await.status, 204, "{tags}");
    }
    // The tags in several `If-Match` lines count as one list.
    let current = tag(&server, &key, &order_path(5)).await;
    let lines = [("if-match", &*old), ("if-match", &*current)];
    let answer = server.send_with_headers(&key, "DELETE", &order_path(5), &lines).await;
    assert_eq!(answer.status, 204);
}

#[tokio::test]
async fn other_errors_come_before_a_failed_precondition() {
    let mut setup = TestSetup::new();
    let key = setup.enterprise_key(100, 100);
    setup.pending([1, 10]).shipped(9);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    assert_eq!(cancel_if_match(&server, &key, 10, "*").await.status, 204);
    for (id, status, code) in [(9, 409, "order_already_shipped"), (10, 404, "order_not_found")] {
        let own = tag(&server, &key, &order_path(id)).await;
        for tags in [&*own, "\"a\"", "*"] {
            cancel_if_match(&server, &key, id, tags).await.assert_error(status, code);
        }
    }
    for tags in ["\"a\"", "*"] {
        cancel_if_match(&server, &key, 99, tags).await.assert_error(404, "order_not_found");
    }
    let invalid =
        server.send_with_headers(&key, "DELETE", "/v2/store/orders/x", &[("if-match", "\"a\"")]);
    invalid.await.assert_error(400, "invalid_parameter");
    let unauthorized = server.send("DELETE", &order_path(1), &[("if-match", "\"a\"")]).await;
    unauthorized.assert_error(401, "unauthorized");
    store.set(Fault::Fails);
    cancel_if_match(&server, &key, 1, "\"a\"").await.assert_error(503, "service_unavailable");
    store.set(Fault::None);
    cancel_if_match(&server, &key, 1, "\"a\"").await.assert_error(412, "precondition_failed");
}

/// While the cancellation of order 1 waits for the store, order 1 or order 2 changes. Only a change
/// of order 1 prevents the cancellation.
#[tokio::test]
async fn a_change_after_the_comparison_prevents_the_cancellation() {
    let (server, key) = serve(Plan::Business).await;
    for (changed, status) in [(1, 412), (2, 204)] {
        let known = tag(&server, &key, &order_path(1)).await;
        let writer = rusqlite::Connection::open(server.setup.store.path()).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        let changing = async {
            wait_until("the cancellation waits", || async { server.runs_batch() }).await;
            let change = format!(
                "UPDATE last_changes SET orders = orders + 1;
                 UPDATE orders SET complete = 1,
                        change_number = (SELECT orders FROM last_changes) WHERE id = {changed};
                 COMMIT"
            );
            writer.execute_batch(&change).unwrap();
        };
        let cancelling = cancel_if_match(&server, &key, 1, &known);
        let (answer, ()) = tokio::join!(cancelling, changing);
        assert_eq!(answer.status, status, "order {changed} changed: {answer:?}");
    }
}

#[tokio::test]
async fn the_client_cancels_an_order_that_it_has_seen() {
    let (server, key) = serve(Plan::Business).await;
    let client = server.client(&key).v2();
    let order = client.get_order(1).await.unwrap();
    let etag = order.etag().unwrap();
    set_complete(&server, 1);
    let changed = client.cancel_order_if_unchanged(1, etag).await;
    assert_eq!(changed.as_ref().unwrap_err().code(), Some(ErrorCode::PreconditionFailed));
    assert_eq!(error_of(changed), (412, "precondition_failed".to_string()));
    let order = client.get_order(1).await.unwrap();
    assert!(order.complete);
    let cancelled = client.cancel_order_if_unchanged(1, order.etag().unwrap()).await.unwrap();
    assert_eq!(*cancelled, CancelOrderOutcome::Cancelled);
    // The order is already cancelled, so the response is 404. The outdated tag does not cause a
    // 412.
    let again = client.cancel_order_if_unchanged(1, order.etag().unwrap()).await;
    assert_eq!(error_of(again), (404, "order_not_found".to_string()));
}
