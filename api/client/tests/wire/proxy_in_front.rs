//! Tests the client with a proxy that sends responses that the API does not document.

use crate::scripted::{Reply, ScriptedServer};
use std::time::Duration;
use store_orders_client::{
    CancelOrderOutcome, Client, ClientBuilder, ErrorCode, ErrorKind, RetryPolicy,
};

const GONE: &str = r#"{"code":"order_not_found","message":"There is no order 1.","status":404}"#;
const ORDERS: &str = r#"[{"id":1,"petId":7,"quantity":2,"complete":false}]"#;

fn builder(server: &ScriptedServer) -> ClientBuilder {
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2));
    Client::builder(&server.base_url, "sto_test_x").retry(policy)
}

fn client(server: &ScriptedServer) -> Client {
    builder(server).build().unwrap()
}

async fn start_without_retries(reply: Reply) -> (ScriptedServer, Client) {
    let server = ScriptedServer::start([reply]).await;
    let client = builder(&server).without_retries().build().unwrap();
    (server, client)
}

#[tokio::test]
async fn an_html_503_keeps_status_headers_and_request_id() {
    let reply = Reply::html(503)
        .header("Retry-After: 7")
        .header("Server: proxy")
        .header("x-request-id: 5a2bd2f9");
    let (_server, client) = start_without_retries(reply).await;
    let error = client.list_orders().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Response, None), "{error:?}");
    assert_eq!(error.status().unwrap(), 503);
    assert_eq!(error.headers().unwrap()["server"], "proxy");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(error.request_id(), Some("5a2bd2f9"));
    assert_eq!(
        error.to_string(),
        "503 Service Unavailable: not an error of the API, so a proxy may have answered \
         (request id 5a2bd2f9)"
    );
    assert!(std::error::Error::source(&error).is_some());
}

/// Tests a 404 that the API document has, and one that it lacks. The document has a 404 for
/// `cancelOrder`, but none for `listOrders`.
#[tokio::test]
async fn an_empty_404_keeps_status_headers_and_request_id() {
    for cancels in [true, false] {
        let (_server, client) =
            start_without_retries(Reply::json(404, "").header("x-request-id: 5a2bd2f9")).await;
        let error = if cancels {
            client.cancel_order(1).await.unwrap_err()
        } else {
            client.list_orders().await.unwrap_err()
        };
        assert_eq!((error.kind(), error.code()), (ErrorKind::Response, None), "{error:?}");
        assert_eq!(error.status().unwrap(), 404);
        assert_eq!(error.headers().unwrap()["content-type"], "application/json");
        assert_eq!(error.request_id(), Some("5a2bd2f9"));
    }
}

#[tokio::test]
async fn an_undocumented_success_is_an_invalid_body() {
    for cancels in [true, false] {
        let (_server, client) = start_without_retries(Reply::html(200)).await;
        let error = if cancels {
            client.cancel_order(1).await.unwrap_err()
        } else {
            client.list_orders().await.unwrap_err()
        };
        assert_eq!(error.kind(), ErrorKind::InvalidBody, "{error:?}");
        assert_eq!(error.status().unwrap(), 200);
        assert_eq!(error.headers().unwrap()["content-type"], "text/html");
    }
}

#[tokio::test]
async fn a_truncated_list_keeps_status_and_request_id() {
    let reply = Reply::json(200, ORDERS).header("x-request-id: 5a2bd2f9").cut_at(20);
    let (_server, client) = start_without_retries(reply).await;
    let error = client.list_orders().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteBody);
    assert_eq!(
        error.to_string(),
        "200 OK: the response broke off in its body (request id 5a2bd2f9)"
    );
}

#[tokio::test]
async fn failures_of_servers_and_proxies_are_retried() {
    let failures = || {
        [
            Reply::html(500),
            Reply::html(502),
            Reply::html(503),
            Reply::html(504).header("Retry-After: 0"),
        ]
    };
    let server =
        ScriptedServer::start(failures().into_iter().chain([Reply::json(200, ORDERS)])).await;
    let orders = client(&server).list_orders().await.unwrap();
    assert_eq!((orders.len(), orders.attempts()), (1, 5));
    let server = ScriptedServer::start(failures().into_iter().chain([Reply::json(204, "")])).await;
    assert_eq!(client(&server).cancel_order(1).await.unwrap().attempts(), 5);
}

#[tokio::test]
async fn a_404_after_a_repeated_delete_is_not_an_error() {
    for first in
        [Reply::close(), Reply::reset(), Reply::html(500), Reply::html(502), Reply::html(503)]
    {
        let not_found = Reply::json(404, GONE).header("x-request-id: 5a2bd2f9");
        let server = ScriptedServer::start([first, not_found]).await;
        let outcome = client(&server).cancel_order(1).await.unwrap();
        assert_eq!(*outcome, CancelOrderOutcome::AlreadyGone);
        assert_eq!((outcome.attempts(), outcome.request_id()), (2, Some("5a2bd2f9")));
    }
}

#[tokio::test]
async fn a_404_that_no_earlier_attempt_can_explain_is_an_error() {
    let limited = r#"{"code":"rate_limit_exceeded","message":"Wait.","status":429}"#;
    for before in [vec![], vec![Reply::json(429, limited)]] {
        let attempts = before.len() as u32 + 1;
        let replies = before.into_iter().chain([Reply::json(404, GONE)]);
        let server = ScriptedServer::start(replies).await;
        let error = client(&server).cancel_order(1).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::OrderNotFound));
        assert_eq!(error.attempts(), attempts);
    }
}

#[tokio::test]
async fn without_a_server_the_error_has_the_attempts() {
    // The listener is dropped, so nothing listens on this port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let base_url = format!("http://{address}/v1");
    drop(listener);
    let policy = RetryPolicy::default().attempts(3).first_wait(Duration::from_millis(2));
    let client = Client::builder(base_url, "sto_test_x").retry(policy).build().unwrap();
    let error = client.cancel_order(1).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, 3));
    assert_eq!(
        error.to_string(),
        format!(
            "the connection to {address} failed: Connection refused (os error 111) \
             (after 3 attempts)"
        )
    );
}

#[tokio::test]
async fn the_error_names_a_host_that_does_not_resolve() {
    let client = Client::builder("https://orders.invalid/v1", "sto_test_x").without_retries();
    let error = client.build().unwrap().list_orders().await.unwrap_err();
    let line = error.to_string();
    let cause = line.strip_prefix("the connection to orders.invalid failed: ").unwrap();
    assert!(cause.starts_with("failed to lookup address information"), "{line}");
}
