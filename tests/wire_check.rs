//! Tests of the wire check. Its proxy must report violations of the API document and forward all
//! bytes unchanged.

use store_orders_api::plans::Plan;
use test_server::TestSetup;
use test_server::wire_check::{WireCheckProxy, wire_check};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const STAMPS: &str = "x-ratelimit-limit: 60\r\nx-ratelimit-remaining: 59\r\n\
                      x-ratelimit-reset: 1781524860\r\n\
                      cache-control: no-store\r\n\
                      x-request-id: 5a2bd2f9-1c8e-4c5b-9a38-5d7f0f6c2e11\r\n";

/// Returns a response with `headers` and the headers that every response to a counted request has.
fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{STAMPS}{headers}content-length: {length}\r\n\r\n{body}")
}

const JSON: &str = "content-type: application/json\r\n";
const LISTED: &str = "content-type: application/json\r\netag: W/\"1\"\r\n";
const LINK: &str =
    "link: </guide#not_found>; rel=\"service-doc\", </openapi.json>; rel=\"service-desc\"\r\n";

fn list(body: &str) -> String {
    response("200 OK", LISTED, body)
}

fn error(status: &str, headers: &str, code: &str, status_in_body: u16) -> String {
    let body = format!(r#"{{"code":"{code}","message":"m","status":{status_in_body}}}"#);
    response(status, &format!("{JSON}{LINK}{headers}"), &body)
}

async fn violations(request: &str, answer: &str) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = WireCheckProxy::before(listener.local_addr().unwrap());
    exchange(&proxy, &listener, request, answer).await;
    proxy.observer().take_violations()
}

async fn exchange(proxy: &WireCheckProxy, listener: &TcpListener, request: &str, answer: &str) {
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(format!("{request} HTTP/1.1\r\nhost: h\r\n\r\n").as_bytes()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 1024];
    assert!(server.read(&mut buffer).await.unwrap() > 0);
    // Send the response in two parts, because the network may split a response anywhere.
    let (head, rest) = answer.split_at(answer.len() / 2);
    server.write_all(head.as_bytes()).await.unwrap();
    server.write_all(rest.as_bytes()).await.unwrap();
    server.shutdown().await.unwrap();
    let mut received = String::new();
    client.read_to_string(&mut received).await.unwrap();
    assert_eq!(received, answer, "the proxy changes nothing");
}

const LIST: &str = "GET /v1/store/orders";
const CANCEL: &str = "DELETE /v1/store/orders/1";
const ORDER: &str = r#"{"id":1,"petId":7,"quantity":1,"complete":false}"#;

#[tokio::test]
async fn valid_exchanges_have_no_violation() {
    let chunked = format!(
        "HTTP/1.1 200 OK\r\n{STAMPS}{LISTED}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n"
    );
    for (request, answer) in [
        (LIST, list("[]")),
        (LIST, list(&format!("[{ORDER}]"))),
        (LIST, chunked),
        (LIST, format!("HTTP/1.1 200 OK\r\n{STAMPS}{LISTED}\r\n[]")),
        (
            "HEAD /v1/store/orders?x=1",
            format!("HTTP/1.1 200 OK\r\n{STAMPS}{LISTED}content-length: 9\r\n\r\n"),
        ),
        (CANCEL, format!("HTTP/1.1 204 No Content\r\n{STAMPS}\r\n")),
        (CANCEL, error("404 Not Found", "", "order_not_found", 404)),
        ("GET /nowhere", error("404 Not Found", "", "not_found", 404)),
        (
            "GET /v1/store/orders/",
            error("401 Unauthorized", "www-authenticate: Bearer\r\n", "unauthorized", 401),
        ),
        (
            "PUT /v1/store/orders",
            error("405 No", "allow: GET, HEAD\r\n", "method_not_allowed", 405),
        ),
        ("GET /openapi.json", format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 2\r\n\r\n{{}}")),
        ("GET /v1/../x", "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_string()),
        ("BREW /v1/store/orders", "HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n".to_string()),
    ] {
        assert_eq!(violations(request, &answer).await, [""; 0], "{request}: {answer}");
    }
}

#[tokio::test]
async fn violations_of_the_contract_are_reported() {
    let order = |from: &str, to: &str| list(&format!("[{}]", ORDER.replacen(from, to, 1)));
    for (request, answer, expected) in [
        (LIST, order("\"id\":1", "\"id\":\"1\""), "body/0/id"),
        (LIST, order("\"id\":1", "\"id\":9223372036854775808"), "body/0/id"),
        (LIST, order("\"id\":1,", ""), "\"id\" is a required property"),
        (LIST, order("}", ",\"status\":\"pending\"}"), "status"),
        (LIST, order("}", ",\"shipDate\":null}"), "body/0/shipDate"),
        (LIST, order("}", ",\"shipDate\":\"soon\"}"), "body/0/shipDate"),
        (LIST, list("{}"), "is not of type \"array\""),
        (LIST, list("[] x"), "not JSON"),
        (LIST, list("[]").replace("x-request-id", "x-other-id"), "x-request-id is missing"),
        (LIST, list("[]").replace("x-request-id", "x-other-id"), "x-other-id is not documented"),
        (LIST, list("[]").replace("remaining: 59", "remaining: -1"), "x-ratelimit-remaining: -1"),
        (LIST, list("[]").replace("limit: 60", "limit: many"), "x-ratelimit-limit: \"many\""),
        (LIST, list("[]").replace("5a2bd2f9-", ""), "x-request-id: "),
        (LIST, response("200 OK", &format!("{LISTED}x-request-id: 1\r\n"), "[]"), "came 2 times"),
        (LIST, list("[]").replace("application/json", "text/json"), "content-type is not"),
        (LIST, list("[]").replace("200 OK", "206 Part"), "listOrders documents no such status"),
        (LIST, error("404 Not Found", "", "not_found", 404), "documents no such status"),
        (CANCEL, error("404 Not Found", "", "pet_not_found", 404), "code \"pet_not_found\""),
        (
            CANCEL,
            error("404 Not Found", "", "order_not_found", 404).replace(LINK, ""),
            "link is missing",
        ),
        (CANCEL, error("409 No", "", "order_already_shipped", 400), "status 400"),
        (CANCEL, error("429 No", "", "key_banned", 429), "retry-after is missing"),
        (CANCEL, error("429 No", "retry-after: 0\r\n", "key_banned", 429), "retry-after: 0"),
        (CANCEL, error("500 No", "", "service_unavailable", 500), "code \"service_unavailable\""),
        (CANCEL, response("204 No Content", JSON, ""), "a body where none is documented"),
        (
            "GET /v1/pets/7",
            error("401 No", "www-authenticate: x\r\n", "unauthorized", 401),
            "sunset",
        ),
        ("GET /nowhere", list("[]"), "no operation documents no such status"),
        ("GET /nowhere", error("404 Not Found", "", "order_not_found", 404), "order_not_found"),
        (
            "PUT /v1/store/orders",
            error("405 No", "", "method_not_allowed", 405),
            "allow is missing",
        ),
        ("GET /openapi.json", list("{}"), "not counted"),
    ] {
        let reported = violations(request, &answer).await.join("\n");
        assert!(reported.contains(expected), "{request}: {expected}: {reported:?}");
        assert!(reported.starts_with(request), "{reported}");
    }
}

#[tokio::test]
async fn a_body_that_ends_early_is_a_violation() {
    let head = format!("HTTP/1.1 200 OK\r\n{STAMPS}{LISTED}");
    for answer in [
        format!("{head}content-length: 9\r\n\r\n[]"),
        format!("{head}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n"),
    ] {
        let reported = violations(LIST, &answer).await;
        assert_eq!(reported, ["GET /v1/store/orders: 200: the body ended early"]);
    }
}

#[tokio::test]
#[should_panic(expected = "the wire does not agree with the document")]
async fn a_violation_fails_the_test_of_its_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = WireCheckProxy::before(listener.local_addr().unwrap());
    exchange(&proxy, &listener, LIST, &list("{}")).await;
}

#[tokio::test]
async fn pipelined_requests_are_each_checked() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1]);
    let server = setup.serve().await;
    server.keep_exchanges();
    let line = |start: &str, last: &str| {
        format!("{start} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n{last}\r\n", key.text)
    };
    let mut client = TcpStream::connect(server.proxy_address()).await.unwrap();
    let together = [
        line("GET /v1/store/orders", "content-length: 3\r\n") + "abc",
        line("HEAD /v1/store/orders", ""),
        line("DELETE /v1/store/orders/1", "transfer-encoding: chunked\r\n") + "1\r\nx\r\n0\r\n\r\n",
        line("GET /v1/store/orders", "connection: close\r\n"),
    ];
    client.write_all(together.concat().as_bytes()).await.unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&received).matches("HTTP/1.1 ").count(), 4);
    let observed = wire_check().seen(&server.exchanges());
    assert!(
        observed.contains("listOrders 200") && observed.contains("cancelOrder 204"),
        "{observed:?}"
    );
}
