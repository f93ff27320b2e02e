//! Each request that gets a 5xx must have exactly one log line at WARN or above. The line contains
//! the reason and the request's id.

use super::damaged::break_constraint;
use super::data_with;
use crate::limits::unavailable::Unreachable;
use serde_json::Value;
use std::time::Duration;
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, Fault, TestServer, TestSetup, unknown_key};
use testbed::{Key, wait_until};

const LIST: (&str, &str) = ("GET", "/v1/store/orders");
const PAGE: (&str, &str) = ("GET", "/v2/store/orders");
const CANCEL: (&str, &str) = ("DELETE", "/v1/store/orders/1");
const PET: (&str, &str) = ("GET", "/v1/pets/7");

async fn expect_reasons(
    server: &TestServer,
    log: &CapturedLog,
    key: &Key,
    requests: &[(&str, &str)],
    (status, reason): (u16, &str),
) {
    for (method, path) in requests {
        let answer = server.send_with(key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        let id = answer.text("x-request-id").to_string();
        let lines_of_request = |level| {
            let lines = log.lines(level).into_iter();
            lines.filter(|line: &Value| line["request_id"] == id.as_str()).collect::<Vec<_>>()
        };
        let failures = [lines_of_request("WARN"), lines_of_request("ERROR")].concat();
        assert_eq!(failures.len(), 1, "{method} {path}: {}", log.text());
        let [failure, request] = [&failures[0], &lines_of_request("INFO")[0]];
        assert_eq!(failure["msg"], "request failed", "{failure}");
        assert_eq!([&failure["status"], &request["status"]], [status, status], "{failure}");
        let error = failure["error"].as_str().unwrap();
        assert!(error.contains(reason), "{method} {path}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_store_is_logged_as_the_reason_of_each_failure() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    setup.pending([1, 2]).pet(7, "Rex");
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    assert_eq!(server.list_with(&key).await.status, 200);
    store.set(Fault::Fails);
    let requests = [LIST, PAGE, CANCEL, PET];
    expect_reasons(&server, &log, &key, &requests, (503, "a test says so")).await;
    let unknown = (503, "the key cannot be checked");
    expect_reasons(&server, &log, &unknown_key(), &[LIST], unknown).await;
    store.set(Fault::None);
    wait_until("the key is accepted", || async { server.list_with(&key).await.status == 200 })
        .await;
    store.set(Fault::Panics);
    let panic = (500, "a test lets the store panic");
    expect_reasons(&server, &log, &key, &[LIST], panic).await;
    expect_reasons(&server, &log, &unknown_key(), &[LIST], unknown).await;
    store.set(Fault::None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_store_is_logged_as_the_reason() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    assert_eq!(server.list_with(&key).await.status, 200);
    store.set(Fault::Silent);
    expect_reasons(&server, &log, &key, &[LIST], (503, "no answer within 5 s")).await;
    store.set(Fault::None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_cancellation_is_logged_as_the_reason() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    setup.pending([1]);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    store.set(Fault::Late);
    let requests = [CANCEL, ("DELETE", "/v2/store/orders/1")];
    expect_reasons(&server, &log, &key, &requests, (503, "not confirm the cancellation in time"))
        .await;
}

#[tokio::test]
async fn unavailable_counts_are_logged_as_the_reason() {
    let log = CapturedLog::new();
    let limits = Unreachable::new(Duration::from_secs(1));
    let setup = TestSetup::new().with_log(&log).with_rate_limiter(limits);
    let key = setup.key(Plan::Pro);
    let server = setup.serve().await;
    expect_reasons(&server, &log, &key, &[LIST, CANCEL], (503, "cannot be counted: no answer"))
        .await;
}

#[tokio::test]
async fn a_failure_is_logged_at_the_level_of_warnings() {
    let (data, key) = data_with(1);
    break_constraint(&data);
    let server = data.serve(&["--log-level", "warn"]).unwrap();
    wait_until("the damage is found", || async { server.log().contains("the store is damaged") })
        .await;
    let url = format!("{}/store/orders", server.base_url());
    let answer = reqwest::Client::new().get(url).bearer_auth(&key.text).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_string();
    wait_until("the failure is logged", || async { server.log().contains(&id) }).await;
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(&id)).collect();
    let [line] = lines[..] else { panic!("{log}") };
    assert!(line.contains(r#""error":"the store is damaged"#), "{line}");
}
