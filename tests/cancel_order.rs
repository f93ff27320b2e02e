//! Tests cancellations by `DELETE /store/orders/{orderId}`. `conditional.rs` tests the
//! cancellations that depend on `If-Match`.

use store_orders::store::{Cancelled, OrderStatus, Status};
use store_orders::store::{OperatorStore, OrderCommands, Records};
use store_orders_api::documents::{COUNT, DOCUMENTS};
use store_orders_api::plans::Plan;
use test_server::{TestSetup, error_of, pending_order};

#[tokio::test]
async fn a_cancelled_order_leaves_the_list_for_good() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1, 2, 3]);
    let server = setup.serve().await;
    let client = server.client(&key);

    let cancelled = client.cancel_order(2).await.unwrap();
    assert_eq!(cancelled.status(), 204);
    assert!(!cancelled.headers().contains_key("content-length"));
    let ids: Vec<i64> = client.list_orders().await.unwrap().iter().map(|order| *order.id).collect();
    assert_eq!(ids, [1, 3]);
    assert_eq!(error_of(client.cancel_order(2).await), (404, "order_not_found".to_string()));

    let row = server.setup.store.order(2).unwrap().unwrap();
    let (at, by) = ("2026-06-15T12:00:00Z".parse().unwrap(), key.id.as_str().into());
    assert_eq!(row.status, OrderStatus::Cancelled(Box::new(Cancelled { at, by })));
    let again = server.setup.store.import(Records::Orders(&[pending_order(2)]), false);
    assert!(again.is_err(), "the id of a cancelled order is never used again");
}

#[tokio::test]
async fn a_shipped_order_is_unchanged() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.shipped(7).pending([8]);
    let server = setup.serve().await;
    let client = server.client(&key);
    let before = client.list_orders().await.unwrap().into_inner();
    assert_eq!(error_of(client.cancel_order(7).await), (409, "order_already_shipped".to_string()));
    server.setup.store.ship_orders(&[8]).unwrap();
    assert_eq!(error_of(client.cancel_order(8).await), (409, "order_already_shipped".to_string()));
    let after = client.list_orders().await.unwrap().into_inner();
    assert_eq!(before, after);
    assert_eq!(server.setup.store.order(7).unwrap().unwrap().status.status(), Status::Shipped);
}

#[tokio::test]
async fn preconditions_are_ignored_as_each_document_says() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending(1..=2 * COUNT as i64);
    let server = setup.serve().await;
    let mut ids = 1..;
    for document in DOCUMENTS {
        let served = server.send("GET", document.path, &[]).await.json();
        let operation = &served["paths"]["/store/orders/{orderId}"]["delete"];
        let description = operation["description"].as_str().unwrap();
        let since = ("if-unmodified-since", "Mon, 01 Jan 2001 00:00:00 GMT");
        let (promise, ignored) = match document.name {
            "v1" => (
                "- **Ignored**: query parameters, a body, `If-Match` and `If-Unmodified-Since`.",
                vec![("if-match", "\"zz\""), since],
            ),
            _ => {
                ("- **Ignored**: query parameters, a body, and `If-Unmodified-Since`.", vec![since])
            }
        };
        assert!(description.contains(promise), "{}: {description}", document.path);
        for precondition in ignored {
            let id = ids.next().unwrap();
            let path = format!("{}/store/orders/{id}", document.base_path);
            let answer = server.send_with_headers(&key, "DELETE", &path, &[precondition]).await;
            assert_eq!(answer.status, 204, "{path}: {precondition:?}");
            assert_eq!(
                server.setup.store.order(id).unwrap().unwrap().status.status(),
                Status::Cancelled
            );
        }
    }
}

#[tokio::test]
async fn ids_have_one_spelling() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending([i64::MAX, i64::MIN, 0, 1, 12]);
    let server = setup.serve().await;
    let wrong = [
        "+1",
        "01",
        "-0",
        "1.0",
        "1e3",
        "9223372036854775808",
        "-9223372036854775809",
        "0x1",
        "one",
        "1%20",
        "%2B1",
        "1,0",
        "٣",
        "%EF%BC%91",
        "1_0",
        "--1",
        "-",
        "null",
        "1;2",
        "NaN",
    ];
    for id in wrong {
        let path = format!("/v1/store/orders/{id}");
        let message =
            server.send_with(&key, "DELETE", &path).await.assert_error(400, "invalid_parameter");
        assert!(message.contains("orderId"), "{message}");
    }
    for id in ["9223372036854775807", "-9223372036854775808", "0", "%31"] {
        let path = format!("/v1/store/orders/{id}");
        assert_eq!(server.send_with(&key, "DELETE", &path).await.status, 204, "{id}");
    }
    let client = server.client(&key);
    assert_eq!(client.list_orders().await.unwrap().len(), 1);
    for id in [i64::MAX, i64::MIN, 2, -1] {
        assert_eq!(error_of(client.cancel_order(id).await).0, 404, "{id}");
    }
}
