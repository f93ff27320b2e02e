//! Tests `GET /store/orders` of version 2, which lists orders in pages.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use store_orders::store::{OperatorStore, Order, OrderCommands, OrderStatus, Records};
use store_orders_api::plans::Plan;
use test_server::{Answer, TestServer, TestSetup, pending_order};
use testbed::Key;

async fn page(server: &TestServer, key: &Key, query: &str) -> Answer {
    let answer = server.send_with(key, "GET", &format!("/v2/store/orders{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer
}

fn ids(page: &Value) -> Vec<i64> {
    let orders = page["orders"].as_array().unwrap();
    orders.iter().map(|order| order["id"].as_i64().unwrap()).collect()
}

async fn ids_of_pages(server: &TestServer, key: &Key, query: &str) -> Vec<Vec<i64>> {
    let (mut pages, mut query) = (Vec::new(), query.to_string());
    loop {
        let answer = page(server, key, &query).await;
        let json = answer.json();
        pages.push(ids(&json));
        let Some(cursor) = json.get("nextCursor") else {
            assert!(!answer.headers.contains_key("link"));
            return pages;
        };
        let link = answer.text("link").strip_prefix("</v2/store/orders").unwrap();
        query = link.strip_suffix(">; rel=\"next\"").unwrap().to_string();
        assert!(query.starts_with(&format!("?cursor={}&limit=", cursor.as_str().unwrap())));
    }
}

#[tokio::test]
async fn a_page_of_1_kib_is_compressed_for_clients_that_accept_gzip() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending(1..=2_000);
    let server = setup.serve().await;
    let gzip = [("accept-encoding", "gzip")];
    for (limit, is_compressed) in [(1, false), (100, true), (1_000, true)] {
        let query = format!("?limit={limit}");
        let plain = page(&server, &key, &query).await;
        assert_eq!(plain.body.len() >= 1_024, is_compressed, "{limit}");
        assert_eq!(plain.text("vary"), "Accept-Encoding");
        let path = format!("/v2/store/orders{query}");
        let answer = server.send_with_headers(&key, "GET", &path, &gzip).await;
        assert_eq!((answer.status.as_u16(), answer.text("vary")), (200, "Accept-Encoding"));
        assert_eq!(answer.text("link"), plain.text("link"));
        assert_eq!(answer.headers.contains_key("content-encoding"), is_compressed, "{limit}");
        let head = server.send_with_headers(&key, "HEAD", &path, &gzip).await;
        assert_eq!(head.number("content-length"), answer.body.len() as u64, "{limit}");
        if is_compressed {
            assert_eq!(answer.text("content-encoding"), "gzip");
            assert!(answer.body.len() * 4 < plain.body.len(), "{}", answer.body.len());
            let mut text = Vec::new();
            GzDecoder::new(&answer.body[..]).read_to_end(&mut text).unwrap();
            assert!(text == plain.body, "{limit}");
        }
    }
}

#[tokio::test]
async fn an_order_has_the_fields_of_v1_and_its_status() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1, 9_007_199_254_740_991]).shipped(2);
    let server = setup.serve().await;
    let answer = page(&server, &key, "").await;
    let v1 = server.send_with(&key, "GET", "/v1/store/orders").await.json();
    let json = answer.json();
    assert_eq!(ids(&json), [1, 2, 9_007_199_254_740_991]);
    for (order, v1_order) in json["orders"].as_array().unwrap().iter().zip(v1.as_array().unwrap()) {
        let mut order = order.as_object().unwrap().clone();
        let status = order.remove("status").unwrap();
        assert_eq!(status, if order["id"] == 2 { "shipped" } else { "pending" });
        assert_eq!(&Value::Object(order), v1_order);
    }
    assert_eq!(json.as_object().unwrap().len(), 1, "no nextCursor on the last page");
    answer.assert_common_headers();
    let head = server.send_with(&key, "HEAD", "/v2/store/orders?limit=1").await;
    let get = page(&server, &key, "?limit=1").await;
    assert_eq!(head.text("content-length"), get.body.len().to_string());
    assert_eq!((head.text("link"), head.body.len()), (get.text("link"), 0));
    assert_eq!(get.number("x-ratelimit-remaining"), 300 - 4, "each page is a request");
}

#[tokio::test]
async fn the_pages_together_are_the_list() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending(1..=250);
    let server = setup.serve().await;
    let sizes = |pages: Vec<Vec<i64>>| {
        assert!(pages.iter().flatten().copied().eq(1..=250));
        pages.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(ids_of_pages(&server, &key, "").await), [100, 100, 50]);
    assert_eq!(sizes(ids_of_pages(&server, &key, "?limit=125").await), [125, 125]);
    assert_eq!(sizes(ids_of_pages(&server, &key, "?limit=1000").await), [250]);
    assert_eq!(sizes(ids_of_pages(&server, &key, "?limit=249").await), [249, 1]);
}

#[tokio::test]
async fn filters_can_be_combined() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let order = |id: i64| Order {
        pet_id: id % 3 - 1,
        complete: id % 2 == 0,
        status: if id % 5 == 0 { OrderStatus::Shipped } else { OrderStatus::Pending },
        ship_date: (id % 4 != 0).then(|| format!("2026-12-{id:02}T00:00:00Z").parse().unwrap()),
        ..pending_order(id)
    };
    let orders: Vec<_> = (1..=30).map(order).collect();
    setup.store.import(Records::Orders(&orders), false).unwrap();
    let server = setup.serve().await;
    let expected = |matches: &dyn Fn(i64) -> bool| -> Vec<i64> {
        (1..=30).filter(|id| matches(*id)).collect()
    };
    let has_pet = |id: i64| id % 3 == 0;
    let dated = |id: i64, from: i64, before: i64| id % 4 != 0 && (from..before).contains(&id);
    let all: [(&str, Vec<i64>); 9] = [
        ("petId=-1", expected(&has_pet)),
        ("petId=7", vec![]),
        ("status=pending", expected(&|id| id % 5 != 0)),
        ("status=shipped", expected(&|id| id % 5 == 0)),
        ("complete=true", expected(&|id| id % 2 == 0)),
        (
            "complete=false&petId=-1&status=pending",
            expected(&|id| id % 2 == 1 && has_pet(id) && id % 5 != 0),
        ),
        ("shipDateFrom=2026-12-10T00:00:00Z", expected(&|id| dated(id, 10, 31))),
        // In UTC, this is midnight at the start of the 10th.
        ("shipDateBefore=2026-12-10T02:00:00%2B02:00", expected(&|id| dated(id, 1, 10))),
        (
            "shipDateFrom=2026-12-05T00:00:00.000000001Z&shipDateBefore=2026-12-20T00:00:00Z&petId=-1",
            expected(&|id| dated(id, 6, 20) && has_pet(id)),
        ),
    ];
    for (filter, expected) in all {
        for limit in [1, 4, 1_000] {
            let pages = ids_of_pages(&server, &key, &format!("?{filter}&limit={limit}")).await;
            assert_eq!(pages.concat(), expected, "{filter}");
            assert_eq!(pages.len(), expected.len().div_ceil(limit).max(1), "{filter}");
        }
    }
}

#[tokio::test]
async fn a_page_is_as_fresh_as_a_list() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending((1..=20).step_by(2));
    let server = setup.serve().await;
    let first = page(&server, &key, "?limit=5").await.json();
    assert_eq!(ids(&first), [1, 3, 5, 7, 9]);
    // Change orders between the two pages. The second page must show the changes of orders above id
    // 9.
    let cancelled = server.send_with(&key, "DELETE", "/v2/store/orders/11").await;
    assert_eq!(cancelled.status, 204);
    let store = &server.setup.store;
    store.ship_orders(&[13]).unwrap();
    store.import(Records::Orders(&[pending_order(12), pending_order(4)]), false).unwrap();
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = page(&server, &key, &format!("?cursor={cursor}")).await.json();
    assert_eq!(ids(&rest), [12, 13, 15, 17, 19]);
    assert_eq!(rest["orders"][1]["status"], "shipped");
    let shipped = page(&server, &key, "?status=shipped").await.json();
    assert_eq!(ids(&shipped), [13]);
    let server = server.stop().await.restarted().serve().await;
    assert_eq!(page(&server, &key, &format!("?cursor={cursor}")).await.json(), rest);
}

#[tokio::test]
async fn a_wrong_query_is_400_and_names_the_parameter() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending(1..=5);
    let server = setup.serve().await;
    let first = page(&server, &key, "?limit=2&petId=7").await.json();
    let cursor = first["nextCursor"].as_str().unwrap();
    let flipped = if cursor.ends_with('A') { "E" } else { "A" };
    let altered = format!("{}{flipped}", &cursor[..cursor.len() - 1]);
    for (query, name) in [
        ("limit=1001".to_string(), "limit"),
        ("pet=7".to_string(), "pet"),
        ("petId=7&petId=7".to_string(), "petId"),
        ("status=".to_string(), "status"),
        ("cursor=abc".to_string(), "cursor"),
        (format!("cursor={altered}&petId=7"), "cursor"),
        (format!("cursor={}&petId=7", &cursor[..20]), "cursor"),
        // These requests do not have the filters for which the cursor was issued.
        (format!("cursor={cursor}"), "cursor"),
        (format!("cursor={cursor}&petId=8"), "cursor"),
        (format!("cursor={cursor}&petId=7&status=pending"), "cursor"),
    ] {
        let path = format!("/v2/store/orders?{query}");
        let answer = server.send_with(&key, "GET", &path).await;
        let message = answer.assert_error(400, "invalid_parameter");
        assert!(message.contains(&format!("parameter {name}")), "{query}: {message}");
    }
    let answer = server.send_with(&key, "GET", "/v2/store/orders?cursor=").await;
    let message = answer.assert_error(400, "invalid_parameter");
    assert!(message.ends_with("; leave it out for the first page."), "{message}");
    let other_limit = format!("?petId=7&limit=1&cursor={cursor}");
    assert_eq!(ids(&page(&server, &key, &other_limit).await.json()), [3]);
    // v1 ignores `limit` and `cursor`, even if their values are invalid.
    let list = server.send_with(&key, "GET", "/v1/store/orders?limit=0&cursor=abc").await;
    assert_eq!(list.json().as_array().unwrap().len(), 5);
}
