//! Makes a server send every documented status, header and error code of every operation. A test
//! fails with the list of documented parts that the wire check found in no response.

use crate::limits::bans::BURST;
use codegen::pointer;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use store_orders_api::documents::DOCUMENTS;
use store_orders_api::plans::Plan;
use test_server::wire_check::{Exchange, Promise, WireCheck, wire_check};
use test_server::{Fault, TestCertificate, TestSetup};

/// Returns the method and path of a request for each documented operation. Each server below has
/// order 1 and pet 7.
fn requests() -> impl Iterator<Item = (&'static str, String)> {
    wire_check().operations.iter().map(|operation| {
        let segment = |segment: &String| match segment.as_str() {
            "{orderId}" => "1".to_string(),
            "{petId}" => "7".to_string(),
            other => {
                assert!(!other.contains('{'), "add a value for the parameter {other} here");
                other.to_string()
            }
        };
        let path: Vec<_> = operation.path.iter().map(segment).collect();
        (operation.method.as_str(), format!("/{}", path.join("/")))
    })
}

/// The requests and their expected statuses, in the order of sending. Each request has a valid key.
/// At first, orders 1, 3 and 4 are pending, order 2 has shipped, and pet 7 exists.
const ANSWERS: &[(&str, &str, u16)] = &[
    ("GET", "/v1/store/orders", 200),
    ("GET", "/v1/store/orders?limit=1", 200),
    ("HEAD", "/v1/store/orders", 200),
    ("GET", "/v1/pets/7", 200),
    ("GET", "/v1/pets/7?fields=id", 200),
    ("HEAD", "/v1/pets/7", 200),
    ("GET", "/v1/pets/8", 404),
    ("GET", "/v2/store/orders", 200),
    ("GET", "/v2/store/orders?limit=1", 200),
    ("HEAD", "/v2/store/orders?limit=1", 200),
    ("GET", "/v2/store/orders?limit=1&complete=false", 200),
    ("HEAD", "/v2/store/orders?petId=8", 200),
    ("GET", "/v2/store/orders?status=shipped&shipDateFrom=2026-01-01T00:00:00Z", 200),
    ("GET", "/v2/store/orders?shipDateBefore=2027-01-01T00:00:00Z", 200),
    ("GET", "/v2/store/orders/3", 200),
    ("DELETE", "/v1/store/orders/1", 204),
    ("DELETE", "/v1/store/orders/1", 404),
    ("DELETE", "/v2/store/orders/1", 404),
    ("DELETE", "/v1/store/orders/2", 409),
    ("DELETE", "/v2/store/orders/3", 204),
    ("DELETE", "/v2/store/orders/3", 404),
    ("DELETE", "/v2/store/orders/2", 409),
    ("GET", "/v1/pets/x", 400),
    ("GET", "/v1/pets/07", 400),
    ("DELETE", "/v1/store/orders/x", 400),
    ("DELETE", "/v1/store/orders/+1", 400),
    ("DELETE", "/v2/store/orders/x", 400),
    ("DELETE", "/v2/store/orders/02", 400),
    ("GET", "/v2/store/orders?limit=0", 400),
    ("GET", "/v2/store/orders?pet=7", 400),
    ("GET", "/v2/store/orders?status=pending&status=shipped", 400),
    ("GET", "/v2/store/orders?cursor=x", 400),
    ("GET", "/v2/store/orders?shipDateFrom=2026", 400),
    ("GET", "/v1/store", 404),
    ("GET", "/v1/store/orders/", 404),
    ("GET", "/v1/pets/7/8", 404),
    ("GET", "/v2/pets/7", 404),
    ("POST", "/v1/store/orders", 405),
    ("PUT", "/v1/pets/7", 405),
    ("GET", "/v1/store/orders/1", 405),
    ("POST", "/v2/store/orders", 405),
    ("GET", "/v2/store/orders/1", 200),
    ("GET", "/v2/store/orders/2", 200),
    ("HEAD", "/v2/store/orders/2", 200),
    ("GET", "/v2/store/orders/9", 404),
    ("GET", "/v2/store/orders/x", 400),
    ("PUT", "/v2/store/orders/2", 405),
];

const FIRST_PAGE: &str = "/v2/store/orders?limit=1";

fn next_page(page: &Value) -> String {
    format!("/v2/store/orders?cursor={}", page["nextCursor"].as_str().unwrap())
}

/// Paths whose responses have an entity tag. After the requests of `ANSWERS`, the test sends
/// `If-None-Match` to these paths, to get a 304.
const TAGGED: [&str; 3] = ["/v1/store/orders", FIRST_PAGE, "/v2/store/orders/2"];

/// Creates a setup. [`TestSetup::new`] is for HTTP/1.1 without TLS, [`tls_setup`] for HTTP/2 over
/// TLS.
type NewSetup = fn() -> TestSetup;

fn tls_setup() -> TestSetup {
    TestSetup::new().with_certificate(TestCertificate::new())
}

async fn answers_of_operations(new_setup: NewSetup) -> Vec<Exchange> {
    let setup = new_setup();
    let key = setup.key(Plan::Pro);
    setup.pending([1, 3, 4]).shipped(2).pet(7, "Rex");
    let server = setup.serve().await;
    server.keep_exchanges();
    let page = server.send_with(&key, "GET", FIRST_PAGE).await.json();
    assert_eq!(server.send_with(&key, "GET", &next_page(&page)).await.status, 200);
    for &(method, path, status) in ANSWERS {
        let answer = server.send_with(&key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
    for path in TAGGED {
        let headers = [("if-none-match", "*")];
        let answer = server.send_with_headers(&key, "GET", path, &headers).await;
        assert_eq!(answer.status, 304, "{path}");
    }
    for (tags, status) in [("\"a\"", 412), ("*", 204)] {
        let headers = [("if-match", tags)];
        let answer = server.send_with_headers(&key, "DELETE", "/v2/store/orders/4", &headers).await;
        assert_eq!(answer.status, status, "{tags}");
    }
    for (method, path) in requests() {
        server.send(method, &path, &[]).await.assert_error(401, "unauthorized");
    }
    server.exchanges()
}

/// Collects both kinds of 429 of each operation: for an exhausted limit, and for a banned key. The
/// limit is one request a minute, so one strike is enough for a ban.
async fn answers_of_limits(new_setup: NewSetup) -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for (method, path) in requests() {
        let setup = new_setup();
        let key = setup.enterprise_key(1, 1_000);
        setup.pending([1]).pet(7, "Rex");
        let server = setup.serve().await;
        server.keep_exchanges();
        let mut codes = Vec::new();
        for _ in 0..4 {
            let answer = server.send_with(&key, method, &path).await;
            if answer.status == 429 {
                server.setup.clock.advance(BURST);
                codes.push(answer.json()["code"].as_str().unwrap().to_string());
            }
        }
        codes.dedup();
        assert_eq!(codes, ["rate_limit_exceeded", "key_banned"], "{method} {path}");
        exchanges.extend(server.exchanges());
    }
    exchanges
}

async fn answers_of_faults(new_setup: NewSetup) -> Vec<Exchange> {
    let mut setup = new_setup();
    let key = setup.key(Plan::Pro);
    setup.pending([1]).pet(7, "Rex");
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    // Fill the key cache, so that the failing store is not queried for the key.
    assert_eq!(server.list_with(&key).await.status, 200);
    server.keep_exchanges();
    for (fault, status, code) in
        [(Fault::Fails, 503, "service_unavailable"), (Fault::Panics, 500, "internal_error")]
    {
        store.set(fault);
        for (method, path) in requests() {
            let answer = server.send_with(&key, method, &path).await;
            let message = answer.assert_error(status, code);
            assert!(!message.contains("test"), "{message}");
        }
    }
    store.set(Fault::None);
    assert_eq!(server.send_with(&key, "DELETE", "/v1/store/orders/1").await.status, 204);
    server.exchanges()
}

#[tokio::test]
async fn every_documented_status_header_and_code_is_seen_over_http_1() {
    every_documented_answer_is_seen(TestSetup::new).await;
}

#[tokio::test]
async fn every_documented_status_header_and_code_is_seen_over_tls_and_http_2() {
    every_documented_answer_is_seen(tls_setup).await;
}

/// Collects responses over HTTP/1.1.
pub async fn answers_of_server() -> Vec<Exchange> {
    answers_of(TestSetup::new).await
}

async fn answers_of(new_setup: NewSetup) -> Vec<Exchange> {
    [
        answers_of_operations(new_setup).await,
        answers_of_limits(new_setup).await,
        answers_of_faults(new_setup).await,
    ]
    .concat()
}

/// Asserts that the tests have seen every part of the document. The message has one line for each
/// missing part, because `cargo xtask publish` shows only these lines.
fn assert_all_seen(version: &str, seen: &BTreeSet<String>) {
    let unseen = wire_check().unseen(version, seen);
    let lines: Vec<_> = unseen.iter().map(|what| format!("{what} was never seen")).collect();
    assert!(unseen.is_empty(), "of what {version} documents:\n{}", lines.join("\n"));
}

async fn every_documented_answer_is_seen(new_setup: NewSetup) {
    let observed = wire_check().seen(&answers_of(new_setup).await);
    for version in DOCUMENTS.map(|document| document.name) {
        let promised: Vec<_> = wire_check().promises(version).iter().map(Promise::label).collect();
        assert!(promised.len() > 160, "{}: {promised:#?}", promised.len());
        assert_all_seen(version, &observed);
    }
}

#[tokio::test]
async fn promises_that_no_test_saw_are_listed() {
    let mut documents = DOCUMENTS.map(|document| document.json().unwrap());
    let mut put = |version: usize, place: &str, value: Value| {
        pointer::put(&mut documents[version - 1], place, value).unwrap();
    };
    let (list, text) = ("/paths/~1store~1orders/get/responses", json!({ "type": "string" }));
    put(1, &format!("{list}/418"), json!({ "description": "" }));
    put(1, &format!("{list}/200/headers/X-Colour"), json!({ "schema": text }));
    put(1, "/components/schemas/Order/properties/colour", text.clone());
    let examples = "/components/responses/TooManyRequests/content/application~1json/examples";
    put(2, &format!("{examples}/too_eager"), json!({ "value": { "status": 429 } }));
    let status = "/components/schemas/Order/properties/status/x-extensible-enum";
    put(2, status, json!(["pending", "shipped", "cancelled", "lost"]));
    put(2, "/components/schemas/OrderPage/properties/total", text.clone());
    let parameter = json!({ "in": "query", "name": "colour", "schema": text });
    put(2, "/paths/~1store~1orders/get/parameters/0", parameter);

    let check = WireCheck::closed(&documents);
    let observed = check.seen(&answers_of_server().await);
    let unseen = ["v1", "v2"].map(|version| check.unseen(version, &observed));
    // Returns the labels that end in `part`, without this end, such as `listOrders 200`. A new part
    // of a shared component is unseen once in each operation that uses the component.
    let operations = |version: &str, part: &str| {
        let promises = wire_check().promises(version);
        let labels = promises.iter().map(Promise::label);
        let starts: Vec<_> =
            labels.filter_map(|label| Some(label.strip_suffix(part)?.to_string())).collect();
        assert!(!starts.is_empty(), "no promise of {version} ends in {part}");
        starts
    };
    let mut expected = [
        vec!["listOrders 418".to_string(), "listOrders 200 header x-colour".to_string()],
        vec![
            "v2/listOrders parameter colour".to_string(),
            "v2/listOrders 200 field OrderPage.total".to_string(),
        ],
    ];
    for (version, like, part) in [
        (1, " field Order.id", " field Order.colour"),
        (2, " value Order.status shipped", " value Order.status lost"),
        (2, " 429 code key_banned", " 429 code too_eager"),
    ] {
        let starts = operations(&format!("v{version}"), like).into_iter();
        expected[version - 1].extend(starts.map(|start| start + part));
    }
    let sorted = |labels: [Vec<String>; 2]| labels.map(BTreeSet::from_iter);
    assert_eq!(sorted(unseen), sorted(expected));
}
