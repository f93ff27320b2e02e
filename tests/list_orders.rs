//! `GET /store/orders` of version 1, which returns all orders in one response.

use store_orders_api::plans::Plan;
use test_server::TestSetup;

#[tokio::test]
async fn all_orders_come_in_ascending_order_with_the_five_fields() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([5, 1, -3, 9_007_199_254_740_991, 4]).shipped(2);
    let server = setup.serve().await;
    let orders = server.client(&key).list_orders().await.unwrap().into_inner();
    let ids: Vec<i64> = orders.iter().map(|order| *order.id).collect();
    assert_eq!(ids, [-3, 1, 2, 4, 5, 9_007_199_254_740_991]);
    assert_eq!((*orders[1].pet_id, orders[1].quantity, orders[1].complete), (7, 1, false));
    assert!(orders[1].ship_date.is_none() && orders[2].ship_date.is_some());

    let raw = server.send_with(&key, "GET", "/v1/store/orders").await.json();
    let fields = |order: &serde_json::Value| -> Vec<String> {
        order.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(fields(&raw[1]), ["id", "petId", "quantity", "complete"]);
    assert_eq!(fields(&raw[2]), ["id", "petId", "quantity", "shipDate", "complete"]);
    assert_eq!(raw[2]["shipDate"], "2026-06-21T00:00:00Z");
}

#[tokio::test]
async fn no_orders_are_an_empty_array_without_compression() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let gzip = [("accept-encoding", "gzip")];
    let answer = server.send_with_headers(&key, "GET", "/v1/store/orders", &gzip).await;
    assert_eq!(answer.body, b"[]");
    assert!(!answer.headers.contains_key("content-encoding"));
    assert_eq!(answer.text("vary"), "Accept-Encoding");
    assert_eq!(answer.text("content-length"), "2");
    assert_eq!(answer.text("content-type"), "application/json");
    answer.assert_common_headers();
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body_and_counts() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    setup.pending(1..=100);
    let server = setup.serve().await;
    let get = server.send_with(&key, "GET", "/v1/store/orders").await;
    let head = server.send_with(&key, "HEAD", "/v1/store/orders").await;
    assert!(head.body.is_empty());
    assert_eq!(head.text("content-length"), get.body.len().to_string());
    assert_eq!(head.text("content-type"), get.text("content-type"));
    assert_eq!(head.number("x-ratelimit-remaining"), 58);
}

#[tokio::test(flavor = "multi_thread")]
async fn gzip_is_the_same_list_before_and_after_cancellations() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending(1..=20_000);
    let server = setup.serve().await;
    let gzip = [("accept-encoding", "gzip")];
    let client = server.client(&key);
    for id in [1, 20_000, 7_777, 10_000] {
        for round in 0..2 {
            let plain = server.send_with(&key, "GET", "/v1/store/orders").await;
            assert!(!plain.headers.contains_key("content-encoding"));
            let answer = server.send_with_headers(&key, "GET", "/v1/store/orders", &gzip).await;
            assert_eq!(answer.text("content-encoding"), "gzip");
            assert_eq!([answer.text("vary"), plain.text("vary")], ["Accept-Encoding"; 2]);
            // The server knows the response's length in advance only if it compressed the pages for
            // an earlier request.
            if round == 1 {
                assert_eq!(answer.text("content-length"), answer.body.len().to_string());
            }
            assert!(answer.body.len() < plain.body.len() / 8);
            let mut text = Vec::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(&answer.body[..]);
            std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
            assert_eq!(text, plain.body);
            if round == 1 {
                let orders = client.list_orders().await.unwrap();
                assert_eq!(orders.len(), plain.json().as_array().unwrap().len());
            }
        }
        client.cancel_order(id).await.unwrap();
    }
}
