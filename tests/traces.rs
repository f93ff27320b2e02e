//! A request's log line contains the trace id and the span id that the client sends in
//! `traceparent` (W3C Trace Context).

use serde_json::{Value, json};
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, TestSetup};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

#[tokio::test]
async fn the_line_of_a_request_names_its_trace_if_that_is_valid() {
    let log = CapturedLog::new();
    let setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Pro);
    let server = setup.serve().await;
    let traceparent = format!("00-{TRACE}-{SPAN}-01");
    let invalid = format!("00-{}-{SPAN}-01", TRACE.to_uppercase());
    for (path, sent, ids) in [
        ("/v1/store/orders", vec![&traceparent], [json!(TRACE), json!(SPAN)]),
        ("/v1/unknown", vec![&traceparent], [json!(TRACE), json!(SPAN)]),
        ("/docs", vec![&traceparent], [json!(TRACE), json!(SPAN)]),
        ("/v1/store/orders", vec![], [Value::Null, Value::Null]),
        ("/v1/store/orders", vec![&invalid], [Value::Null, Value::Null]),
        ("/v1/store/orders", vec![&traceparent, &traceparent], [Value::Null, Value::Null]),
    ] {
        let sent = sent.into_iter().map(|value| ("traceparent", value.as_str()));
        let headers: Vec<_> = sent.collect();
        let answer = server.send_with_headers(&key, "GET", path, &headers).await;
        let lines = log.lines("INFO");
        let line = lines.iter().rfind(|line| line["msg"] == "request").unwrap();
        assert_eq!(line["request_id"], answer.text("x-request-id"));
        assert_eq!([&line["trace_id"], &line["span_id"]], [&ids[0], &ids[1]], "{path} {headers:?}");
    }
}
