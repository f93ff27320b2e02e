//! Requests that no client should send, from a random source: well-formed ones of every
//! kind, odd ones, and both with bytes changed.

use fastrand::Rng;

/// Orders that hostile clients name. A changed byte rarely makes another of one.
pub const HOSTILE_ORDERS: std::ops::RangeInclusive<i64> = 1..=200;

const METHODS: [&str; 14] = [
    "GET", "GET", "GET", "DELETE", "DELETE", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "TRACE",
    "PROPFIND", "get", "CONNECT",
];

const TARGETS: [&str; 30] = [
    "/v1/store/orders",
    "/v1/store/orders",
    "/v1/pets/1",
    "/v1/pets/7",
    "/v1/pets/0x7",
    "/v1/pets/",
    "/",
    "/docs",
    "/docs/docs.js",
    "/openapi.json",
    "/changelog",
    "/favicon.ico",
    "*",
    "",
    "/v1",
    "/v1/../v1/store/orders",
    "/v1/%2e%2e/v1/store/orders",
    "/v1/store/orders/%ff",
    "/v1/store/orders/%00",
    "/v1/store/orders/%zz",
    "/v1/store/orders%2f1",
    "/v1//store/orders",
    "//v1/store/orders",
    "http://other.example/v1/store/orders",
    "/v1/store/orders?page=2&page=3",
    "/v1/store/orders#part",
    "/v1/store/orders/9223372036854775807",
    "/v1/store/orders/9223372036854775808",
    "/v1/store/orders/-1",
    "/V1/STORE/ORDERS",
];

const HEADERS: [&str; 22] = [
    "Host: localhost",
    "Host: ",
    "Host: a, b",
    "Accept: */*",
    "Accept-Encoding: gzip",
    "Accept-Encoding: gzip;q=0, br, *;q=x",
    "Content-Type: application/json",
    "Connection: keep-alive",
    "Connection: close",
    "Connection: upgrade, host, authorization",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    "Upgrade: websocket",
    "Expect: 100-continue",
    "Expect: 200-ok",
    "Range: bytes=0-10",
    "If-None-Match: *",
    "X-Forwarded-For: 10.0.0.1, 10.0.0.2",
    "X-Forwarded-For: \u{e9}",
    "X-Request-Id: 1",
    "Trailer: X-Late",
    "TE: trailers",
];

/// Lines for which a connection is closed.
const BROKEN_HEADERS: [&str; 4] = [" folded: line", "no colon", "Name : value", "X-Nul: a\0b"];

const BODIES: [(&str, &str); 14] = [
    ("", ""),
    ("", ""),
    ("", ""),
    ("Content-Length: 0\r\n", ""),
    ("Content-Length: 5\r\n", "12345"),
    ("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
    ("Content-Length: 2\r\nContent-Length: 5\r\n", "12345"),
    ("Content-Length: +2\r\n", "{}"),
    ("Content-Length: 99999999999999999999\r\n", "x"),
    ("Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\n", "5;a=b\r\n12345\r\n0\r\nX-Late: 1\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\n", "zz\r\n12345\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: gzip, identity\r\n", "12345"),
];

/// The keys that hostile clients know: valid ones, and what only looks like one.
pub struct KnownKeys {
    pub valid: Vec<String>,
    pub invalid: Vec<String>,
}

/// What one connection sends.
pub struct Script {
    pub bytes: Vec<u8>,
    /// Requests that were generated; changed bytes may make more or fewer of them.
    pub requests: usize,
}

/// The bytes of one connection.
pub fn script(random: &mut Rng, keys: &KnownKeys) -> Script {
    // The preface of HTTP/2, and frames that are none.
    if random.u8(..) == 0 {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend((0..random.usize(..200)).map(|_| random.u8(..)));
        return Script { bytes, requests: 1 };
    }
    let requests = random.usize(1..=8);
    let mut bytes = Vec::new();
    for _ in 0..requests {
        let mut request = match random.u8(..100) {
            0..15 => cancel(random, keys),
            15..45 => read(random, keys),
            _ => request(random, keys),
        };
        if random.u8(..100) < 15 {
            change(random, &mut request);
        }
        bytes.extend(request);
    }
    if random.u8(..100) < 10 {
        bytes.truncate(random.usize(..=bytes.len()));
    }
    Script { bytes, requests }
}

/// A well-formed cancellation.
fn cancel(random: &mut Rng, keys: &KnownKeys) -> Vec<u8> {
    let (order, key) = (random.i64(HOSTILE_ORDERS), pick(random, &keys.valid));
    format!(
        "DELETE /v1/store/orders/{order} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    .into_bytes()
}

/// A well-formed request that changes nothing.
fn read(random: &mut Rng, keys: &KnownKeys) -> Vec<u8> {
    let key = pick(random, &keys.valid).to_string();
    let method = pick(random, &["GET", "GET", "GET", "HEAD"]);
    let targets = ["/v1/store/orders", "/v1/pets/7", "/v1/pets/8", "/docs", "/openapi.json"];
    let target = pick(random, &targets);
    format!("{method} {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n")
        .into_bytes()
}

fn request(random: &mut Rng, keys: &KnownKeys) -> Vec<u8> {
    let method = pick(random, &METHODS);
    let target = match random.u8(..200) {
        0 => format!("/v1/{}", "a".repeat(random.usize(60_000..70_000))),
        1..40 => format!("/v1/store/orders/{}", random.i64(HOSTILE_ORDERS)),
        40..50 => {
            let target = pick(random, &TARGETS);
            percent_encoded(random, target)
        }
        _ => pick(random, &TARGETS).to_string(),
    };
    let version = match random.u8(..40) {
        0 => "HTTP/1.0",
        1 => "HTTP/0.9",
        2 => "HTTP/2.0",
        3 => "HTTP/1.2",
        4 => "http/1.1",
        _ => "HTTP/1.1",
    };
    let mut head = format!("{method} {target} {version}\r\n");
    for _ in 0..random.usize(..4) {
        head.push_str(pick(random, &HEADERS));
        head.push_str("\r\n");
    }
    for _ in 0..random.choice([0, 1, 1, 1, 2]).unwrap_or(1) {
        head.push_str(&authorization(random, keys));
        head.push_str("\r\n");
    }
    match random.u16(..400) {
        0 => (0..random.usize(90..130)).for_each(|n| head.push_str(&format!("X-{n}: 1\r\n"))),
        1 => head.push_str(&format!("X-Large: {}\r\n", "a".repeat(random.usize(1..600_000)))),
        _ => {}
    }
    if random.u8(..100) < 2 {
        head.push_str(pick(random, &BROKEN_HEADERS));
        head.push_str("\r\n");
    }
    let (framing, body) = random.choice(&BODIES).copied().unwrap_or_default();
    format!("{head}{framing}\r\n{body}").into_bytes()
}

fn authorization(random: &mut Rng, keys: &KnownKeys) -> String {
    let valid = pick(random, &keys.valid).to_string();
    match random.u8(..10) {
        0..4 => format!("Authorization: Bearer {valid}"),
        4 => format!("authorization:bearer   {valid}"),
        5 => format!("Authorization: Basic {valid}"),
        6 => "Authorization: Bearer".to_string(),
        7 => format!(
            "Authorization: Bearer {}",
            valid.get(..random.usize(..valid.len())).unwrap_or_default()
        ),
        _ => format!("Authorization: Bearer {}", pick(random, &keys.invalid)),
    }
}

fn percent_encoded(random: &mut Rng, target: &str) -> String {
    let mut encoded = String::new();
    for byte in target.bytes() {
        match random.u8(..4) {
            0 => encoded.push_str(&format!("%{byte:02X}")),
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}

/// Changes some bytes.
fn change(random: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(1..4) {
        // The head is what the server reads most of.
        let end = bytes.len().min(400);
        if end < 2 {
            return;
        }
        let (at, length) = (random.usize(..end), random.usize(1..8));
        let range = at..(at + length).min(end);
        match random.u8(..6) {
            0 => drop(bytes.splice(at..=at, [random.u8(..)])),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.u8(..8)),
            2 => drop(bytes.drain(range)),
            3 => {
                let copied = bytes.get(range).unwrap_or_default().to_vec();
                bytes.splice(at..at, copied);
            }
            4 => drop(bytes.splice(at..at, *b"\r\n")),
            _ => bytes.insert(at, random.choice(*b"\0\n\r \t:%\xff").unwrap_or(0)),
        }
    }
}

fn pick<'a, T: AsRef<str>>(random: &mut Rng, from: &'a [T]) -> &'a str {
    random.choice(from).map_or("", AsRef::as_ref)
}
