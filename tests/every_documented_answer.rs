//! Drives every status, header and code of every operation of the document over
//! the wire, and finds by the document itself whether one was left out.

use std::collections::BTreeSet;
use store_orders_api::plans::Plan;
use testbed::Key;
use testbed::contract::contract;
use testbed::in_process::{Fault, TestCertificate, TestServer, TestSetup};

/// Each operation as a request that its path and method lead to.
const OPERATIONS: [(&str, &str); 5] = [
    ("GET", "/v1/store/orders"),
    ("DELETE", "/v1/store/orders/1"),
    ("GET", "/v1/pets/7"),
    ("GET", "/v2/store/orders?petId=7"),
    ("DELETE", "/v2/store/orders/1"),
];

async fn send(server: &TestServer, key: &Key, requests: &[(&str, &str)], status: u16) {
    for (method, path) in requests {
        let answer = server.send_with(key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
}

/// How servers are to speak: HTTP/1.1 in the clear, or HTTP/2 over TLS.
type NewSetup = fn() -> TestSetup;

fn tls_setup() -> TestSetup {
    TestSetup::new().with_certificate(TestCertificate::new())
}

/// What operations answer by themselves, and what no operation answers.
async fn answers_of_operations(new_setup: NewSetup) -> BTreeSet<String> {
    let setup = new_setup();
    let key = setup.key(Plan::Pro);
    setup.pending([1, 3]).shipped(2).pet(7, "Rex");
    let server = setup.serve().await;
    send(&server, &key, &[("GET", "/v1/store/orders"), ("GET", "/v1/pets/7")], 200).await;
    send(&server, &key, &[("HEAD", "/v1/store/orders"), ("HEAD", "/v1/pets/7")], 200).await;
    let pages = [("GET", "/v2/store/orders"), ("HEAD", "/v2/store/orders?limit=1")];
    send(&server, &key, &pages, 200).await;
    send(&server, &key, &[("GET", "/v2/store/orders?limit=1")], 200).await;
    send(&server, &key, &[("DELETE", "/v1/store/orders/1")], 204).await;
    send(&server, &key, &[("DELETE", "/v2/store/orders/3")], 204).await;
    send(&server, &key, &[("DELETE", "/v1/store/orders/x"), ("GET", "/v1/pets/x")], 400).await;
    let malformed = [("DELETE", "/v2/store/orders/x"), ("GET", "/v2/store/orders?limit=0")];
    send(&server, &key, &malformed, 400).await;
    send(&server, &key, &[("DELETE", "/v1/store/orders/1"), ("GET", "/v1/pets/8")], 404).await;
    send(&server, &key, &[("DELETE", "/v2/store/orders/1"), ("GET", "/v2/pets/7")], 404).await;
    send(&server, &key, &[("DELETE", "/v1/store/orders/2")], 409).await;
    send(&server, &key, &[("DELETE", "/v2/store/orders/2")], 409).await;
    send(&server, &key, &[("GET", "/v1/store")], 404).await;
    send(&server, &key, &[("POST", "/v1/store/orders"), ("PUT", "/v1/pets/7")], 405).await;
    send(&server, &key, &[("POST", "/v2/store/orders")], 405).await;
    for (method, path) in OPERATIONS {
        server.send(method, path, &[]).await.assert_error(401, "unauthorized");
    }
    server.seen()
}

/// A limit of one request a minute: the second is refused, and one more bans.
async fn answers_of_limits(new_setup: NewSetup) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for (method, path) in OPERATIONS {
        let setup = new_setup();
        let key = setup.enterprise_key(1, 1_000);
        setup.pending([1]).pet(7, "Rex");
        let server = setup.serve().await;
        let mut codes = Vec::new();
        for _ in 0..4 {
            let answer = server.send_with(&key, method, path).await;
            if answer.status == 429 {
                codes.push(answer.json()["code"].as_str().unwrap().to_string());
            }
        }
        codes.dedup();
        assert_eq!(codes, ["rate_limit_exceeded", "key_banned"], "{method} {path}");
        seen.extend(server.seen());
    }
    seen
}

/// A store that fails is 503, one that panics is 500.
async fn answers_of_faults(new_setup: NewSetup) -> BTreeSet<String> {
    let mut setup = new_setup();
    let key = setup.key(Plan::Pro);
    setup.pending([1]).pet(7, "Rex");
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    for (fault, status, code) in
        [(Fault::Fails, 503, "service_unavailable"), (Fault::Panics, 500, "internal_error")]
    {
        store.set(fault);
        for (method, path) in OPERATIONS {
            let answer = server.send_with(&key, method, path).await;
            let message = answer.assert_error(status, code);
            assert!(!message.contains("test"), "{message}");
        }
    }
    store.set(Fault::None);
    send(&server, &key, &[("DELETE", "/v1/store/orders/1")], 204).await;
    server.seen()
}

#[tokio::test]
async fn every_documented_status_header_and_code_is_seen_over_http_1() {
    every_documented_answer_is_seen(TestSetup::new).await;
}

#[tokio::test]
async fn every_documented_status_header_and_code_is_seen_over_tls_and_http_2() {
    every_documented_answer_is_seen(tls_setup).await;
}

async fn every_documented_answer_is_seen(new_setup: NewSetup) {
    let mut seen = answers_of_operations(new_setup).await;
    let unseen =
        ["v1", "v2"].map(|version| contract().unseen(version, &seen).join("\n")).join("\n");
    for missing in [
        "getPet 429 header retry-after",
        "cancelOrder 5XX",
        "listOrders 429 code key_banned",
        "v2/listOrders 5XX code service_unavailable",
    ] {
        assert!(unseen.contains(missing), "{missing} would not be missed: {unseen}");
    }
    seen.extend(answers_of_limits(new_setup).await);
    seen.extend(answers_of_faults(new_setup).await);
    for (version, promises) in [("v1", 80), ("v2", 60)] {
        let promised = contract().promised(version);
        assert!(promised.len() > promises, "{promised:#?}");
        let unseen = contract().unseen(version, &seen);
        assert!(unseen.is_empty(), "documented and never seen: {unseen:#?}");
    }
}
