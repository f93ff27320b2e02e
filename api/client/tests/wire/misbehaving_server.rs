//! Tests the client against misbehaving servers, proxies and networks.

use crate::scripted::{Reply, ScriptedServer};
use std::time::{Duration, Instant};
use store_orders_client::reqwest;
use store_orders_client::{Client, ClientBuilder, ErrorCode, ErrorKind, RetryPolicy};

const KEY: &str = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";
const ORDERS: &str = r#"[{"id":1,"petId":7,"quantity":2,"complete":false}]"#;
const LIMITED: &str = r#"{"code":"rate_limit_exceeded","message":"Wait.","status":429}"#;
const BANNED: &str = r#"{"code":"key_banned","message":"Wait.","status":429}"#;
const GONE: &str = r#"{"code":"order_not_found","message":"There is no order 1.","status":404}"#;
const AWAY: &str = r#"{"code":"service_unavailable","message":"Later.","status":503}"#;

fn builder(server: &ScriptedServer) -> ClientBuilder {
    // Short waits keep the tests fast.
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2));
    Client::builder(&server.base_url, KEY).retry(policy)
}

fn client(server: &ScriptedServer) -> Client {
    builder(server).build().unwrap()
}

#[tokio::test]
async fn a_list_and_the_key_arrive() {
    let server = ScriptedServer::start([Reply::json(200, ORDERS)
        .header("X-RateLimit-Limit: 60")
        .header("X-RateLimit-Remaining: 59")
        .header("X-RateLimit-Reset: 1796083260")
        .header("x-request-id: 5a2bd2f9")])
    .await;
    let orders = client(&server).list_orders().await.unwrap();
    assert_eq!(orders.iter().map(|order| *order.id).collect::<Vec<_>>(), [1]);
    assert_eq!(orders.rate_limit().unwrap().remaining, 59);
    assert_eq!(orders.request_id(), Some("5a2bd2f9"));

    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    let request = request.to_lowercase();
    assert!(request.starts_with("get /v1/store/orders http/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: bearer {KEY}\r\n").to_lowercase()));
    assert!(request.contains("accept-encoding: gzip\r\n"), "{request}");
}

#[tokio::test]
async fn the_user_agent_is_the_crate_unless_the_program_sets_an_http_client() {
    let default = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    let http = reqwest::Client::builder;
    for (http, sent) in [
        (None, Some(default)),
        (Some(http().user_agent("shop/2.1")), Some("shop/2.1")),
        (Some(http()), None),
    ] {
        let server = ScriptedServer::start([Reply::json(200, ORDERS)]).await;
        let builder = builder(&server);
        let builder = match http {
            None => builder,
            Some(http) => builder.http(http),
        };
        builder.build().unwrap().list_orders().await.unwrap();
        let request = server.requests().concat().to_lowercase();
        let user_agent = request.lines().find_map(|line| line.strip_prefix("user-agent: "));
        assert_eq!(user_agent, sent);
    }
}

#[tokio::test]
async fn an_unknown_code_is_an_error_like_others() {
    let server = ScriptedServer::start([Reply::json(
        409,
        r#"{"code":"order_frozen","message":"It is frozen.","status":409,"since":"today"}"#,
    )])
    .await;
    let error = client(&server).cancel_order(1).await.unwrap_err();
    assert_eq!(error.status().unwrap(), 409);
    assert_eq!(error.code(), Some(ErrorCode::Other("order_frozen".to_string())));
    assert_eq!(error.body().unwrap().message, "It is frozen.");
}

#[tokio::test]
async fn a_status_that_is_not_in_the_document_still_has_a_code() {
    let server = ScriptedServer::start([Reply::json(
        404,
        r#"{"code":"not_found","message":"There is no such path.","status":404}"#,
    )])
    .await;
    let error = client(&server).list_orders().await.unwrap_err();
    assert_eq!(error.status().unwrap(), 404);
    assert_eq!(error.code(), Some(ErrorCode::NotFound));
}

#[tokio::test]
async fn a_truncated_list_is_an_error_and_not_a_shorter_list() {
    for cut in
        [Reply::json(200, ORDERS).cut_at(20), Reply::json(200, ORDERS).cut_without_length_at(20)]
    {
        let server = ScriptedServer::start([cut]).await;
        let error = client(&server).list_orders().await.unwrap_err();
        let is_body_error =
            matches!(error.kind(), ErrorKind::IncompleteBody | ErrorKind::InvalidBody);
        assert!(is_body_error, "{error:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_truncated_error_response_is_an_incomplete_body() {
    let server = ScriptedServer::start([Reply::json(404, GONE).cut_at(10)]).await;
    let error = client(&server).cancel_order(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteBody, "{error:?}");
    assert_eq!(error.status().unwrap(), 404);
}

#[tokio::test]
async fn the_client_backs_off_after_a_429_without_retry_after() {
    let server = ScriptedServer::start([
        Reply::json(429, LIMITED),
        Reply::json(429, ""),
        Reply::json(503, AWAY),
        Reply::json(200, ORDERS),
    ])
    .await;
    assert_eq!(client(&server).list_orders().await.unwrap().len(), 1);
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn the_client_waits_for_retry_after() {
    let server = ScriptedServer::start([
        Reply::json(429, LIMITED).header("Retry-After: 1"),
        Reply::json(204, ""),
    ])
    .await;
    let began = Instant::now();
    client(&server).cancel_order(1).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_retry_after_of_a_week_is_returned_at_once() {
    let server =
        ScriptedServer::start([Reply::json(429, LIMITED).header("Retry-After: 604800")]).await;
    let client = client(&server);
    // The timeout ends the test if the client waits for `Retry-After`.
    let listed = tokio::time::timeout(Duration::from_secs(60), client.list_orders());
    let error = listed.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::RateLimitExceeded));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(604_800)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_delete_whose_connection_was_reset_is_sent_again() {
    let server =
        ScriptedServer::start([Reply::reset(), Reply::close(), Reply::json(204, "")]).await;
    client(&server).cancel_order(1).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.starts_with("DELETE /v1/store/orders/1 ")));
}

#[tokio::test]
async fn a_list_whose_connection_was_reset_is_requested_again() {
    let server = ScriptedServer::start([Reply::reset(), Reply::json(200, ORDERS)]).await;
    assert_eq!(client(&server).list_orders().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_client_waits_for_the_end_of_a_ban() {
    let server = ScriptedServer::start([
        Reply::json(429, BANNED).header("Retry-After: 1"),
        Reply::json(200, ORDERS),
    ])
    .await;
    let began = Instant::now();
    assert_eq!(client(&server).list_orders().await.unwrap().len(), 1);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_ban_longer_than_the_policy_is_returned_at_once() {
    let server = ScriptedServer::start([Reply::json(429, BANNED).header("Retry-After: 300")]).await;
    let error = client(&server).list_orders().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::KeyBanned));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(300)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_truncated_429_is_an_error() {
    let server = ScriptedServer::start([Reply::json(429, BANNED).cut_at(9)]).await;
    let client = builder(&server).without_retries().build().unwrap();
    let error = client.list_orders().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteBody, "{error:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn without_retries_everything_is_sent_once() {
    for reply in [
        Reply::json(429, LIMITED).header("Retry-After: 1"),
        Reply::html(502),
        Reply::json(503, AWAY).header("Retry-After: 1"),
        Reply::html(504),
        Reply::reset(),
        Reply::close(),
    ] {
        let server = ScriptedServer::start([reply]).await;
        let client = builder(&server).without_retries().build().unwrap();
        assert_eq!(client.cancel_order(1).await.unwrap_err().attempts(), 1);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_number_of_attempts_is_bounded() {
    for reply in [
        Reply::json(429, LIMITED),
        Reply::html(502),
        Reply::json(503, AWAY),
        Reply::html(504),
        Reply::reset(),
    ] {
        let server = ScriptedServer::start(vec![reply; 20]).await;
        let error = client(&server).cancel_order(1).await.unwrap_err();
        assert_eq!((server.requests().len(), error.attempts()), (5, 5));
    }
}

/// The server stays silent. The client sees the same if hyper loses a request (`api/UPSTREAM.md`).
#[tokio::test(start_paused = true)]
async fn a_request_that_gets_no_response_is_sent_again_after_ten_seconds() {
    let server = ScriptedServer::start([Reply::silence(), Reply::json(204, "")]).await;
    let began = tokio::time::Instant::now();
    assert_eq!(client(&server).cancel_order(1).await.unwrap().attempts(), 2);
    let seconds = began.elapsed().as_secs_f64();
    assert!((10.0..11.0).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_a_timeout() {
    let server = ScriptedServer::start(vec![Reply::silence(); 20]).await;
    let error = client(&server).cancel_order(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert_eq!((server.requests().len(), error.attempts()), (5, 5));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = ScriptedServer::start([
        Reply::json(307, "").header("Location: /elsewhere"),
        Reply::json(200, ORDERS),
    ])
    .await;
    let error = client(&server).list_orders().await.unwrap_err();
    assert_eq!(error.status().unwrap(), 307);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn no_debug_output_and_no_error_shows_the_key() {
    let server =
        ScriptedServer::start([Reply::json(429, BANNED), Reply::json(418, ""), Reply::close()])
            .await;
    let builder = builder(&server);
    let mut outputs = vec![format!("{builder:?}"), format!("{builder:#?}")];
    let client = builder.without_retries().build().unwrap();
    outputs.extend([format!("{client:?}"), format!("{client:#?}")]);
    for _ in 0..3 {
        let error = client.list_orders().await.unwrap_err();
        outputs.extend([format!("{error:?}"), format!("{error:#}")]);
    }
    outputs.push(format!("{:?}", Client::new("nowhere", KEY)));
    outputs.push(format!("{:?}", Client::new("http://h/v1", format!("{KEY}\n{KEY}"))));
    for output in outputs {
        assert!(!output.contains("0123456789abcdef"), "{output}");
    }
}

#[test]
fn calls_can_be_spawned() {
    fn is_send(_: &impl Send) {}
    let client = Client::new("http://127.0.0.1:9/v1", KEY).unwrap();
    is_send(&client.list_orders());
    is_send(&client.cancel_order(1));
}
