//! Keys appear neither in the log nor in responses, wherever callers put them and whatever fails.

use std::collections::HashSet;
use std::iter;
use std::time::Duration;
use store_orders::api_key::Environment;
use store_orders::key_cache::CachedKeys;
use store_orders::store::{AccountCommands, KeyCommands, NewKey, Position, Rotation, Store};
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, Fault, TestServer, TestSetup, unknown_key};
use testbed::Key;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A string leaks a key if it contains this many consecutive bytes of the key.
const PIECE_BYTES: usize = 20;

/// Every substring of [`PIECE_BYTES`] bytes of the keys, and the same substrings percent-encoded.
struct Secrets {
    pieces: HashSet<Vec<u8>>,
}

impl Secrets {
    fn new(keys: &[Key]) -> Secrets {
        let mut pieces = HashSet::new();
        for key in keys {
            let upper = percent_encode(&key.text);
            for form in [key.text.clone(), upper.to_lowercase(), upper] {
                let length = PIECE_BYTES * form.len() / key.text.len();
                pieces.extend(form.as_bytes().windows(length).map(<[u8]>::to_vec));
            }
        }
        Secrets { pieces }
    }

    /// Describes each distinct line with a leak. The description does not contain the leak.
    fn leaks(&self, text: &str) -> Vec<String> {
        let leak = |line: &str| {
            let position = [PIECE_BYTES, 3 * PIECE_BYTES].iter().find_map(|length| {
                line.as_bytes().windows(*length).position(|piece| self.pieces.contains(piece))
            })?;
            let before = String::from_utf8_lossy(&line.as_bytes()[..position.min(120)]);
            Some(format!("{before}<A KEY> at {position} of {}", line.len()))
        };
        text.lines().collect::<HashSet<_>>().into_iter().filter_map(leak).collect()
    }
}

/// Encodes every byte as `%XX`, even those that need no encoding.
fn percent_encode(key: &str) -> String {
    key.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Sends a request without an HTTP client, because the tests also send malformed requests. Returns
/// the response.
async fn send_raw(server: &TestServer, request: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(server.direct_address()).await.unwrap();
    // Ignore the error, because the server may close the connection before it has read the whole
    // request.
    let _ = stream.write_all(request.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(10), read).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn request(method: &str, target: &str, headers: &[String]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n")
}

/// Returns requests with the key in its proper header and in many wrong places.
fn requests(key: &str) -> Vec<String> {
    let bearer = format!("Authorization: Bearer {key}");
    let mut requests = Vec::new();
    for (method, target) in [
        ("GET", "/v1/store/orders"),
        ("HEAD", "/v1/store/orders"),
        ("DELETE", "/v1/store/orders/1"),
        ("DELETE", "/v1/store/orders/2"),
        ("DELETE", "/v1/store/orders/x"),
        ("GET", "/v1/pets/1"),
        ("GET", "/v1/nowhere"),
        ("POST", "/v1/store/orders"),
        ("GET", "/openapi.json"),
    ] {
        requests.push(request(method, target, std::slice::from_ref(&bearer)));
    }
    requests.extend(requests_with_target(key));
    requests.extend(wrong_headers(key).map(|header| request("GET", "/v1/store/orders", &[header])));
    requests.push(request(key, "/v1/store/orders", &[]));
    requests.push(request("CONNECT", &format!("{key}:443"), std::slice::from_ref(&bearer)));
    for agent in
        [key.to_string(), percent_encode(key), format!("curl/8.5.0 ({key})"), key[9..].to_string()]
    {
        let agent = format!("User-Agent: {agent}");
        requests.push(request("GET", "/v1/store/orders", std::slice::from_ref(&agent)));
        requests.push(request("GET", "/openapi.json", &[agent, bearer.clone()]));
    }
    requests.push(format!("{key}\r\n\r\n"));
    requests.push(format!("GET /{key} HTTP/9.9\r\n\r\n"));
    requests.push(format!("GET /v1/store/orders HTTP/1.1 {key}\r\n{bearer}\r\n\r\n"));
    requests.push(format!("GET /v1/store/orders HTTP/1.1\r\n{bearer}\r\n\0{key}\r\n\r\n"));
    let body = format!("{{\"key\": \"{key}\"}}");
    let length = format!("Content-Length: {}", body.len());
    requests.push(request("POST", "/v1/store/orders", &[bearer, length]) + &body);
    requests
}

fn requests_with_target(key: &str) -> Vec<String> {
    let bearer = format!("Authorization: Bearer {key}");
    let mut requests = Vec::new();
    let half_encoded = format!("%{:02X}{}", key.as_bytes()[0], &key[1..]);
    for name in [
        key.to_string(),
        percent_encode(key),
        half_encoded,
        format!("x{key}x"),
        key[9..].to_string(),
    ] {
        for target in [
            format!("/{name}"),
            format!("/v1/{name}"),
            format!("/v1/store/orders/{name}"),
            format!("/v1/pets/{name}"),
            format!("/v1/{name}/../store/orders"),
            format!("/v1/store/orders?api_key={name}"),
            format!("/v1/pets/1?access_token={name}&x"),
            format!("/openapi.json?{name}"),
            format!("/changelog?key={name}"),
            format!("/{}?{name}", "long/".repeat(20_000)),
            format!("http://{name}/v1/store/orders"),
            name.clone(),
        ] {
            for method in ["GET", "DELETE"] {
                requests.push(request(method, &target, &[]));
                requests.push(request(method, &target, std::slice::from_ref(&bearer)));
            }
        }
    }
    requests
}

fn wrong_headers(key: &str) -> [String; 27] {
    [
        format!("Authorization: {key}"),
        format!("Authorization: Basic {key}"),
        format!("Authorization: Token {key}"),
        format!("Authorization: Bearer{key}"),
        format!("Authorization: Bearer\t{key}"),
        format!("Authorization: Bearer \"{key}\""),
        format!("Authorization: Bearer {key} {key}"),
        format!("Authorization: Bearer {key}x"),
        format!("Authorization: Bearer {key}\u{e9}"),
        format!("Authorization: Bearer {key}\r\nAuthorization: Bearer {key}"),
        format!("Proxy-Authorization: Bearer {key}"),
        format!("X-Api-Key: {key}"),
        format!("X-Forwarded-For: {key}"),
        format!("X-Request-Id: {key}"),
        format!("Cookie: key={key}"),
        format!("User-Agent: {key}"),
        format!("Referer: http://a/{key}"),
        format!("Accept-Encoding: {key}"),
        format!("If-None-Match: {key}"),
        format!("Content-Type: {key}"),
        format!("Content-Length: {key}"),
        format!("Transfer-Encoding: {key}"),
        format!("Expect: {key}"),
        format!("Upgrade: {key}"),
        format!("{key}: x"),
        key.to_string(),
        format!("X: {}{key}", "x".repeat(600_000)),
    ]
}

/// A key's label. Lists of keys show it to the operator, but the log must never contain it.
const LABEL: &str = "web shop of Acme";

/// Creates a setup and nine keys. The first key is valid; some others are expired, revoked or
/// unknown.
fn setup_with_keys(captured: &CapturedLog) -> (TestSetup, Vec<Key>) {
    let mut setup = TestSetup::new().with_log(captured).with_unauthenticated_per_minute(100_000);
    setup.config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    setup.pending([1, 2]).shipped(3).pet(1, "Rex");
    let good = setup.key(Plan::Business);
    let small = setup.enterprise_key(1, 10);
    let revoked = setup.another_key("business-0");
    setup.store.revoke_key(&revoked.id, 0).unwrap();
    let expired = setup.key_with("business-0", Environment::Production, Some(Duration::ZERO));
    let staging = setup.key_with("business-0", Environment::Staging, None);
    let rotated = setup.another_key("business-0");
    let rotation =
        Rotation { key_id: &rotated.id, overlap: Duration::from_secs(60), label: Some(LABEL) };
    let successor = setup.store.rotate_key(rotation, 1_781_524_800_000).unwrap();
    let successor = Key { id: successor.id, text: successor.key.expose().to_string() };
    let unknown = unknown_key();
    let mut mistyped = good.clone();
    mistyped.text.replace_range(44..45, if good.text.ends_with('a') { "b" } else { "a" });
    (setup, vec![good, small, revoked, expired, staging, rotated, successor, unknown, mistyped])
}

#[tokio::test]
async fn no_key_is_in_the_log_or_in_a_response() {
    let captured = CapturedLog::new();
    let (mut setup, keys) = setup_with_keys(&captured);
    let faulty = setup.add_faulty_store();
    let server = setup.serve().await;
    let mut shown = Vec::new();
    for fault in [Fault::None, Fault::Fails, Fault::Panics] {
        faulty.set(fault);
        for (number, key) in keys.iter().enumerate() {
            let requests = requests(&key.text);
            let some = if number == 0 && fault == Fault::None { requests.len() } else { 40 };
            for request in requests.iter().take(some) {
                shown.push(send_raw(&server, request).await);
            }
        }
        // Wait until the server accepts keys again. Until then, the server would refuse requests
        // before they use the store, so the next fault would have no effect.
        faulty.set(Fault::None);
        let list = request(
            "GET",
            "/v1/store/orders",
            &[format!("Authorization: Bearer {}", keys[0].text)],
        );
        testbed::wait_until("the store is available again", || async {
            !send_raw(&server, &list).await.starts_with("HTTP/1.1 503")
        })
        .await;
    }
    drop(server.stop().await);
    let log = captured.text();
    assert!(shown.iter().filter(|answer| answer.starts_with("HTTP/1.1 ")).count() > 500);
    assert!(log.lines().filter(|line| line.contains("\"msg\":\"request\"")).count() > 500);
    assert!(log.contains(&keys[0].id), "the log names keys by their ids");
    assert!(!log.contains(LABEL), "the log has a label");
    assert!(log.contains("malformed_key") && log.contains("\"panic: "), "{log}");
    let secrets = Secrets::new(&keys);
    let mut leaks = secrets.leaks(&log);
    leaks.extend(secrets.leaks(&shown.join("\n")));
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[tokio::test]
async fn no_key_is_in_an_error_or_in_debug_output() {
    let captured = CapturedLog::new();
    let (setup, mut keys) = setup_with_keys(&captured);
    let mut texts = Vec::new();
    let store = &setup.store;
    // The operator enters the key by mistake, instead of its id or an account's name.
    for key in keys.iter().map(|key| key.text.as_str()) {
        let rotation = Rotation { key_id: key, overlap: Duration::ZERO, label: None };
        let environment = Environment::Production;
        let new = NewKey { account: key, environment, expires_after: None, label: None };
        for error in [
            store.revoke_key(key, 0).unwrap_err(),
            store.rotate_key(rotation, 0).unwrap_err(),
            store.issue_key(&new, 0).unwrap_err(),
            store.set_plan(key, Plan::Free, None).unwrap_err(),
        ] {
            texts.push(format!("{error} {error:?} {}", store_orders::log::ErrorChain(&error)));
        }
    }
    let environment = Environment::Production;
    let new = NewKey { account: "business-0", environment, expires_after: None, label: None };
    let issued = store.issue_key(&new, 0).unwrap();
    let text = issued.key.expose().to_string();
    texts.push(format!("{issued:?} {:?} {:?}", issued.key, issued.key.digest()));
    texts.push(format!("{:?} {:?}", store.key_records().unwrap(), store.accounts(0).unwrap()));
    let looked_up = store.look_up_keys(vec![issued.key.digest()]).await.unwrap();
    texts.push(format!("{looked_up:?}"));
    let (cached, read) = (CachedKeys::new(Position::default()), Position::default());
    texts.push(format!("{:?}", cached.insert_looked_up(iter::empty(), looked_up.keys, read)));
    keys.push(Key { id: issued.id, text });
    let leaks = Secrets::new(&keys).leaks(&texts.join("\n"));
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn a_leak_would_be_found() {
    let unknown = unknown_key();
    let (secrets, key) = (Secrets::new(std::slice::from_ref(&unknown)), unknown.text);
    for leak in [
        key.clone(),
        key[13..33].to_string(),
        percent_encode(&key),
        percent_encode(&key).to_lowercase(),
    ] {
        assert_eq!(secrets.leaks(&format!("{{\"path\":\"/x{leak}\"}}")).len(), 1);
    }
    assert!(secrets.leaks(&key[..19]).is_empty());
}
