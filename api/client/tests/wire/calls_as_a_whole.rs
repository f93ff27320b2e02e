//! Tests `max_in_flight` and `call_timeout`.

use crate::scripted::{Reply, ScriptedServer, read_request};
use std::time::Duration;
use store_orders_client::{Client, ClientBuilder, Error, ErrorKind};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

const SECOND: Duration = Duration::from_secs(1);
const LIST: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\
                    Content-Length: 2\r\n\r\n";

/// Returns a listener and the builder of a client without retries. The test accepts the client's
/// connections itself.
async fn listen() -> (TcpListener, ClientBuilder) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, Client::builder(base_url, "sto_test_x").without_retries())
}

async fn next_request(listener: &TcpListener) -> Option<TcpStream> {
    let (mut socket, _) = timeout(SECOND, listener.accept()).await.ok()?.unwrap();
    read_request(&mut socket).await;
    Some(socket)
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_are_limited_by_max_in_flight() {
    let (listener, builder) = listen().await;
    let client = builder.max_in_flight(2).build().unwrap();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.list_orders().await })
        })
        .collect();
    let mut first = next_request(&listener).await.unwrap();
    let mut second = next_request(&listener).await.unwrap();
    assert!(next_request(&listener).await.is_none());
    // The first call is in flight until the body of its response ends, so no other request may
    // arrive yet.
    first.write_all(LIST.as_bytes()).await.unwrap();
    assert!(next_request(&listener).await.is_none());
    first.write_all(b"[]").await.unwrap();
    let mut third = next_request(&listener).await.unwrap();
    for socket in [&mut second, &mut third] {
        socket.write_all(LIST.as_bytes()).await.unwrap();
        socket.write_all(b"[]").await.unwrap();
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_permit() {
    let (listener, builder) = listen().await;
    // A limit of 0 is treated as 1.
    let client = builder.max_in_flight(0).build().unwrap();
    assert!(timeout(SECOND, client.list_orders()).await.is_err());
    drop(next_request(&listener).await.unwrap());
    let (_, request) = tokio::join!(timeout(SECOND, client.list_orders()), next_request(&listener));
    assert!(request.is_some());
}

/// Checks that the call fails after its limit of 3 seconds. Returns the error's kind and message.
async fn expect_timeout(call: impl Future<Output = Result<(), Error>>) -> (ErrorKind, String) {
    let began = Instant::now();
    let error = call.await.unwrap_err();
    let seconds = began.elapsed().as_secs_f64();
    assert!((3.0..3.1).contains(&seconds), "{seconds}: {error}");
    (error.kind(), error.to_string())
}

#[tokio::test(start_paused = true)]
async fn the_call_timeout_covers_all_waits() {
    let (listener, builder) = listen().await;
    let client = builder.call_timeout(3 * SECOND).max_in_flight(1).build().unwrap();
    let list = async || client.list_orders().await.map(drop);
    let line = |part: &str| {
        (
            ErrorKind::CallTimeout,
            format!("the call took longer than its `call_timeout` of 3s {part}"),
        )
    };

    let ((first, second), _socket) = tokio::join!(
        async { tokio::join!(expect_timeout(list()), expect_timeout(list())) },
        next_request(&listener)
    );
    assert_eq!(first, line("while it waited for the response (after 1 attempt)"));
    let waited = "while it waited for other calls to end (`max_in_flight`) (not sent)";
    assert_eq!(second, line(waited));

    let (third, _socket) = tokio::join!(expect_timeout(list()), async {
        let mut socket = next_request(&listener).await.unwrap();
        socket.write_all(LIST.as_bytes()).await.unwrap();
        socket
    });
    assert_eq!(third, line("while it received the response (after 1 attempt)"));
}

#[tokio::test(start_paused = true)]
async fn the_call_timeout_covers_retries_and_the_error_has_the_attempts() {
    let server = ScriptedServer::start([Reply::close(), Reply::silence()]).await;
    let client = Client::builder(&server.base_url, "sto_test_x").call_timeout(3 * SECOND);
    let client = client.build().unwrap();
    let (kind, line) = expect_timeout(async { client.cancel_order(1).await.map(drop) }).await;
    assert_eq!(kind, ErrorKind::CallTimeout);
    assert!(line.ends_with("3s while it waited for the response (after 2 attempts)"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_would_end_after_the_timeout_is_not_begun() {
    let unavailable = Reply::json(503, "").header("Retry-After: 4");
    let limited = Reply::json(429, "").header("Retry-After: 4");
    let server = ScriptedServer::start([unavailable, limited]).await;
    let client = Client::builder(&server.base_url, "sto_test_x").call_timeout(3 * SECOND);
    let client = client.build().unwrap();
    let began = Instant::now();
    for status in [503, 429] {
        let error = client.list_orders().await.unwrap_err();
        assert_eq!((error.status().unwrap().as_u16(), error.attempts()), (status, 1));
    }
    let error = client.list_orders().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::RateLimit, 0));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_error_names_the_read_timeout() {
    let server = ScriptedServer::start([Reply::silence()]).await;
    let client = Client::builder(&server.base_url, "sto_test_x").without_retries();
    let error = client.build().unwrap().list_orders().await.unwrap_err();
    let address = server.base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let line = format!("{address} did not answer within `read_timeout`");
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Timeout, line));
}
