//! Hostile clients and failing servers behind nginx with the configuration that `nginx-conf`
//! prints.

use super::nginx::Nginx;
use crate::scenario::Tools;
use anyhow::{Context, bail};
use reqwest::{StatusCode, Version};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, ServerProcess, Signal, WAIT_TIMEOUT, wait_for};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// nginx's configured time limit for a TLS handshake, for a request head, and for the pause between
/// two reads of a body.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after a timeout within which nginx must close the connection.
const TIMER_SLACK: Duration = Duration::from_secs(2);

const SILENT: usize = 2_000;
const HALF_HANDSHAKES: usize = 300;
const SLOW_REQUESTS: usize = 300;

/// The addresses of hostile clients, and of the customer whose requests are timed.
const HOSTILE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));
const CUSTOMER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7));

/// The number of timed requests of the customer.
const TIMED_REQUESTS: usize = 400;

/// The bound on the p99 is five times the p99 of a quiet machine, but at least this time. Otherwise
/// the bound could be shorter than one time slice of another program.
const MIN_P99_BOUND: Duration = Duration::from_millis(50);

/// Time between two bytes of a slow client.
const BYTE_INTERVAL: Duration = Duration::from_millis(500);

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let program = &tools.program;
    let directory = tempfile::tempdir()?;
    let [one, two] = ["one", "two"].map(|name| DataDir::at(program, &directory.path().join(name)));
    one.import_pending(1..=20_000)?;
    let key = &one.issue_enterprise_key("acme", 10_000_000, 10_000_000)?;
    let flags = ["--trusted-proxy", "127.0.0.1/32"];
    let first = one.serve(&flags)?;
    let nginx = Nginx::start(program, &directory.path().join("nginx"), &[first.address()?])?;
    resists_hostile_clients(&nginx, key, report).await?;
    nginx_errors(&nginx, report).await?;
    client_address_is_forwarded(&nginx, &first, report).await?;
    server_outlives_idle_connections(&nginx, &first, report).await?;
    stop_drains_requests(&nginx, first, key, report).await?;
    nginx_errors_are_logged(&nginx, report)?;
    drop(nginx);
    // The second server has the same orders and keys.
    std::fs::create_dir(two.path())?;
    std::fs::copy(one.path().join("store.sqlite"), two.path().join("store.sqlite"))?;
    let (first, second) = (one.serve(&flags)?, two.serve(&flags)?);
    let addresses = [first.address()?, second.address()?];
    let nginx = Nginx::start(program, &directory.path().join("nginx-2"), &addresses)?;
    no_delete_is_sent_twice(&nginx, first, [&one, &two], key, report).await?;
    drop(nginx);
    second.stop()?;
    let store = rusqlite::Connection::open(two.path().join("store.sqlite"))?;
    store.execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE orders SET quantity = 0")?;
    drop(store);
    let (first, refusing) = (one.serve(&flags)?, two.serve(&flags)?);
    let addresses = [first.address()?, refusing.address()?];
    let nginx = Nginx::start(program, &directory.path().join("nginx-3"), &addresses)?;
    lists_are_retried_elsewhere(&nginx, &refusing, key, report).await?;
    first.stop()?;
    refusing.stop()
}

/// One of two servers refuses everything with 503. nginx retries reads at the other server, so
/// clients get 200. nginx does not retry cancellations, so clients get the 503.
async fn lists_are_retried_elsewhere(
    nginx: &Nginx,
    refusing: &ServerProcess,
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let is_damage_found = async || refusing.log().contains("the store is damaged").then_some(());
    wait_for("the damage is found", WAIT_TIMEOUT, is_damage_found)
        .await
        .with_context(|| refusing.log())?;
    let http = nginx.client(CUSTOMER)?;
    let mut cancels = Vec::new();
    for order in 101..=108 {
        let url = nginx.url(&format!("/v1/store/orders/{order}"));
        cancels.push(http.delete(url).bearer_auth(&key.text).send().await?.status().as_u16());
    }
    expect_shares("cancels while one of two servers refuses", cancels, 503, report);
    each_delete_was_sent_once(nginx, report)?;
    let mut lists = Vec::new();
    for path in ["/v1/store/orders", "/v2/store/orders", "/v2/store/orders/109"].repeat(4) {
        let answer = http.get(nginx.url(path)).bearer_auth(&key.text).send().await?;
        lists.push(answer.status().as_u16());
        answer.bytes().await?;
    }
    let text = || format!("lists while one of two servers refuses: {lists:?}");
    report.expect(lists.iter().all(|status| *status == 200 || *status >= 502), text);
    report.expect_unless_stalled(lists.iter().all(|status| *status == 200), text);
    Ok(())
}

/// Checks that nginx closes an idle connection before the server does.
async fn server_outlives_idle_connections(
    nginx: &Nginx,
    server: &ServerProcess,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut connection = TcpStream::connect(server.address()?).await?;
    connection.write_all(b"GET /changelog.atom HTTP/1.1\r\nHost: a\r\n\r\n").await?;
    let (mut reading, _writing) = connection.split();
    let began = Instant::now();
    // The answer comes at once. Reading continues until the server closes the idle connection.
    read_until_closed(&mut reading).await;
    let closed_after = began.elapsed();
    let keepalive = nginx.upstream_keepalive.context("nginx.conf has no keepalive_timeout")?;
    report.figure(format!("the server closes an idle connection after {closed_after:.1?}"));
    // Checked even if the machine stalled: a stall can only make the server close the connection
    // later.
    report.expect(keepalive + TIMER_SLACK < closed_after, || {
        format!("nginx keeps idle connections for {keepalive:?}")
    });
    Ok(())
}

/// Checks that the log line of a request that nginx answers itself has the client's path and no
/// query.
fn nginx_errors_are_logged(nginx: &Nginx, report: &mut Report) -> anyhow::Result<()> {
    let log = nginx.access_log()?;
    for line in ["GET /v1/store/orders 502 ", "POST /v1/x 413 ", "GET /v1/store/orders 401 "] {
        report.expect(log.contains(line), || format!("nginx's log lacks {line:?}"));
    }
    for part in ["store-orders-error", "?seen"] {
        report.expect(!log.contains(part), || format!("nginx's log has {part:?}"));
    }
    Ok(())
}

/// Returns the 99th percentile of the times of the customer's small requests, which are sent one
/// after the other.
async fn p99(nginx: &Nginx, key: &Key) -> anyhow::Result<Duration> {
    let http = nginx.client(CUSTOMER)?;
    let mut times = Vec::new();
    for _ in 0..TIMED_REQUESTS {
        let began = Instant::now();
        let answer = http.get(nginx.url("/v1/pets/1")).bearer_auth(&key.text).send().await?;
        if answer.status() != StatusCode::NOT_FOUND {
            bail!("the customer got {}", answer.status());
        }
        answer.bytes().await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times.get(TIMED_REQUESTS * 99 / 100).copied().context("no request was timed")
}

/// Sends `sent` on a new connection, then the byte `then` repeatedly, and returns the time until
/// the proxy closes the connection.
async fn measure_open_time(
    address: SocketAddr,
    sent: Vec<u8>,
    then: Option<u8>,
) -> std::io::Result<Duration> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(HOSTILE, 0))?;
    let mut connection = socket.connect(address).await?;
    let began = Instant::now();
    connection.write_all(&sent).await?;
    let (mut reading, mut writing) = connection.split();
    let slowly = async {
        while let Some(byte) = then {
            tokio::time::sleep(BYTE_INTERVAL).await;
            if writing.write_all(&[byte]).await.is_err() {
                break;
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = read_until_closed(&mut reading) => Ok(began.elapsed()),
        () = slowly => Ok(began.elapsed()),
    }
}

/// Reads until the connection ends or fails.
async fn read_until_closed(connection: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut received = Vec::new();
    while connection.read_buf(&mut received).await.is_ok_and(|read| read > 0) {}
    received
}

async fn resists_hostile_clients(
    nginx: &Nginx,
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let quiet = p99(nginx, key).await?;
    let mut hostile = JoinSet::new();
    // The beginning of a TLS record that is never completed.
    let handshake = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc];
    for number in 0..SILENT + HALF_HANDSHAKES {
        let sent = if number < SILENT { Vec::new() } else { handshake.to_vec() };
        hostile.spawn(measure_open_time(nginx.address, sent, None));
    }
    for number in 0..SLOW_REQUESTS {
        let (sent, then) = slow_request(number % 3);
        hostile.spawn(measure_open_time(nginx.plain, sent, then));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let during = p99(nginx, key).await?;
    let mut longest = Duration::ZERO;
    let mut refused = 0;
    while let Some(ended) = hostile.join_next().await {
        match ended.context("a hostile client panicked")? {
            Ok(open_time) => longest = longest.max(open_time),
            Err(_) => refused += 1,
        }
    }
    report.figure(format!(
        "{SILENT} silent connections, {HALF_HANDSHAKES} half handshakes, {SLOW_REQUESTS} heads \
         that come byte by byte, bodies that stop, and heads of 100 KB ({refused} refused)"
    ));
    report.figure(format!("p99 of a customer: {quiet:.2?} quiet, {during:.2?} meanwhile"));
    let bound = (5 * quiet).max(MIN_P99_BOUND);
    report.time("p99 meanwhile, 5 times the quiet one", during, bound);
    // Two timeouts may follow each other: after a slow head, a client may send a slow body.
    report.time("the last of them was ended after", longest, 2 * HEAD_TIMEOUT + TIMER_SLACK);
    Ok(())
}

/// Returns the start of a request that is never completed or is too large, and the byte to repeat
/// after it.
fn slow_request(kind: usize) -> (Vec<u8>, Option<u8>) {
    let head = "POST /v1/store/orders HTTP/1.1\r\nHost: a\r\n";
    let (sent, then) = match kind {
        0 => (format!("{head}X-Slow: "), Some(b'a')),
        1 => (format!("{head}Content-Length: 1000\r\n\r\nx"), None),
        _ => (format!("{head}X-Large: {}", "a".repeat(100_000)), None),
    };
    (sent.into_bytes(), then)
}

/// Checks that nginx's own errors have the same JSON body as the server's errors.
async fn nginx_errors(nginx: &Nginx, report: &mut Report) -> anyhow::Result<()> {
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let large = "POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n".to_string();
    for (what, request, code, status) in [
        ("a malformed path", get("/%zz"), "invalid_request", 400),
        ("a long address", get(&"/a".repeat(4_500)), "uri_too_long", 414),
        ("a large body", large, "request_too_large", 413),
    ] {
        let mut connection = TcpStream::connect(nginx.plain).await?;
        connection.write_all(request.as_bytes()).await?;
        let answer =
            String::from_utf8_lossy(&read_until_closed(&mut connection).await).into_owned();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let error: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let is_right = error.get("code") == Some(&code.into())
            && error.get("status") == Some(&status.into())
            && answer.starts_with(&format!("HTTP/1.1 {status} "))
            && has_uuid(&answer);
        report.expect(is_right, || format!("{what} was answered with {answer}"));
    }
    let large = nginx.client(CUSTOMER)?.post(nginx.url("/v1/x")).body(vec![0; 20_000]);
    let answer = large.send().await?;
    let (version, status, body) = (answer.version(), answer.status(), answer.text().await?);
    let is_right = version == Version::HTTP_2
        && status == StatusCode::PAYLOAD_TOO_LARGE
        && body.contains("\"request_too_large\"");
    report.expect(is_right, || format!("a large body over {version:?}: {status} {body}"));
    Ok(())
}

/// True if `x-request-id` has the form of a UUID, as the document says.
fn has_uuid(answer: &str) -> bool {
    let id = answer.lines().find_map(|line| line.strip_prefix("x-request-id: "));
    let lengths = id.map(|id| id.trim().split('-').map(str::len).collect::<Vec<_>>());
    lengths == Some(vec![8, 4, 4, 4, 12])
}

/// The server sees the client's real address, whatever `X-Forwarded-For` the client sends.
async fn client_address_is_forwarded(
    nginx: &Nginx,
    server: &ServerProcess,
    report: &mut Report,
) -> anyhow::Result<()> {
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));
    let request = nginx.client(from)?.get(nginx.url("/v1/store/orders?seen"));
    let answer = request.header("x-forwarded-for", "192.0.2.1").send().await?;
    report.expect(answer.status() == 401, || format!("without a key: {}", answer.status()));
    let is_seen = async || server.log().contains(r#""client":"127.0.0.99""#).then_some(());
    let result = wait_for("the server sees that client", Duration::from_secs(10), is_seen).await;
    report.expect(result.is_ok(), || format!("the server saw another client: {}", server.log()));
    Ok(())
}

/// A list that is in progress when the server is stopped arrives completely.
async fn stop_drains_requests(
    nginx: &Nginx,
    server: ServerProcess,
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let http = nginx.client(CUSTOMER)?;
    let mut list = http.get(nginx.url("/v1/store/orders")).bearer_auth(&key.text).send().await?;
    let expected = list.content_length().and_then(|length| usize::try_from(length).ok());
    let first = list.chunk().await?.unwrap_or_default();
    server.signal(Signal::TERM)?;
    let mut length = first.len();
    while let Some(chunk) = list.chunk().await? {
        length += chunk.len();
    }
    report.expect(expected == Some(length), || {
        format!("a list was cut off by the stop: {length} of {expected:?} bytes")
    });
    let (status, _) = server.wait()?;
    report.expect(status.success(), || format!("the server ended with {status}"));
    let answer = http.get(nginx.url("/v1/store/orders")).bearer_auth(&key.text).send().await?;
    let (status, error) = (answer.status(), answer.text().await?);
    report.figure(format!("without a server: {status} {error}"));
    report.expect(status == 502 && error.contains("service_unavailable"), || {
        format!("without a server: {status} {error}")
    });
    Ok(())
}

/// A server is killed while it carries out cancellations. nginx must not retry them at the other
/// server: a retry could answer 404 for an order that was just cancelled.
async fn no_delete_is_sent_twice(
    nginx: &Nginx,
    first: ServerProcess,
    stores: [&DataDir; 2],
    key: &Key,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut locks = Vec::new();
    for data in stores {
        let connection = rusqlite::Connection::open(data.path().join("store.sqlite"))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        locks.push(connection);
    }
    let http = nginx.client(CUSTOMER)?;
    let cancels = (1..=8).map(|order| {
        let url = nginx.url(&format!("/v{}/store/orders/{order}", 1 + order % 2));
        tokio::spawn(http.delete(url).bearer_auth(&key.text).send())
    });
    let cancels: Vec<_> = cancels.collect();
    // After this pause, both servers wait for the write locks.
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.kill()?;
    drop(locks);
    let mut statuses = Vec::new();
    for cancel in cancels {
        statuses.push(cancel.await.context("a client panicked")??.status().as_u16());
    }
    let succeeded = expect_shares("cancels while a server of two is killed", statuses, 502, report);
    each_delete_was_sent_once(nginx, report)?;
    let [_, second] = stores;
    let cancelled = second.run_json(&["orders", "list", "--status", "cancelled"])?;
    let cancelled = cancelled.as_array().map_or(0, Vec::len);
    report.expect(cancelled == succeeded, || {
        format!("{succeeded} 204s and {cancelled} cancelled orders")
    });
    Ok(())
}

/// Expects that each of two servers answered a share of these cancellations: one server with 204,
/// the other with the status `failure`. Returns the number of 204s.
fn expect_shares(what: &str, mut statuses: Vec<u16>, failure: u16, report: &mut Report) -> usize {
    statuses.sort_unstable();
    let text = format!("{what}: {statuses:?}");
    report.figure(text.clone());
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    let (failed, succeeded) = (count(failure), count(204));
    // A cancellation that was sent twice would be answered 404.
    report.expect(statuses.iter().all(|one| *one == 204 || *one >= 502), || text.clone());
    let is_shared = failed > 0 && succeeded > 0 && failed + succeeded == statuses.len();
    report.expect_unless_stalled(is_shared, || text);
    succeeded
}

/// Checks in nginx's log that each DELETE was sent to only one server. A log line lists the status
/// from each server that got the request, separated by commas.
fn each_delete_was_sent_once(nginx: &Nginx, report: &mut Report) -> anyhow::Result<()> {
    for line in nginx.access_log()?.lines().filter(|line| line.contains(" DELETE ")) {
        report.expect(!line.contains(", "), || format!("a cancel was sent twice: {line}"));
    }
    Ok(())
}
