//! `GET /store/orders/{orderId}` of version 2, which also returns cancelled orders.

use store_orders_api::plans::Plan;
use store_orders_client::v2;
use test_server::{Fault, TestSetup, error_of};
use testbed::wait_until;

#[tokio::test]
async fn an_order_is_found_while_it_is_listed_and_after_it_was_cancelled() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1, 3]).shipped(2);
    let server = setup.serve().await;
    let client = server.client(&key).v2();
    let order = client.get_order(1).await.unwrap().into_inner();
    assert_eq!(
        (*order.id, &order.status, order.cancelled_at),
        (1, &v2::OrderStatus::Pending, None)
    );
    let shipped = client.get_order(2).await.unwrap().into_inner();
    assert_eq!(shipped.status, v2::OrderStatus::Shipped);

    client.cancel_order(1).await.unwrap();
    let cancelled = client.get_order(1).await.unwrap().into_inner();
    assert_eq!(cancelled.status, v2::OrderStatus::Cancelled);
    assert!(cancelled.cancelled_at.is_some());
    let before = (order.pet_id, order.quantity, order.ship_date, order.complete);
    let after = (cancelled.pet_id, cancelled.quantity, cancelled.ship_date, cancelled.complete);
    assert_eq!(before, after);
    let listed = client.list_orders().send().await.unwrap().into_inner().orders;
    assert!(listed.iter().all(|order| *order.id != 1 && order.cancelled_at.is_none()));

    assert_eq!(error_of(client.get_order(9).await), (404, "order_not_found".to_string()));
    let answer = server.send_with(&key, "GET", "/v2/store/orders/9").await;
    assert_eq!(answer.assert_error(404, "order_not_found"), "There is no order 9.");
    let answer = server.send_with(&key, "GET", "/v2/store/orders/1").await;
    let fields: Vec<_> = answer.json().as_object().unwrap().keys().cloned().collect();
    let expected = ["id", "petId", "quantity", "complete", "status", "cancelledAt"];
    assert_eq!(fields, expected);
}

/// The server's list lacks order 5, because the list comes from the old primary. Order 5 exists on
/// the new primary, so a 404 would be wrong.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_read_during_a_failover_is_not_reported_missing() {
    let mut setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1]);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let read = async || server.send_with(&key, "GET", "/v2/store/orders/5").await;
    read().await.assert_error(404, "order_not_found");
    store.set(Fault::Silent);
    let fail_over = async {
        wait_until("the list is read", || async {
            store.answer_queries().await.unwrap();
            store.order_reads() == 2
        })
        .await;
        store.fail_over();
        server.setup.pending([5]);
        store.set(Fault::None);
    };
    let (answer, ()) = tokio::join!(read(), fail_over);
    answer.assert_error(503, "service_unavailable");
    assert_eq!(read().await.json()["status"], "pending");
}
