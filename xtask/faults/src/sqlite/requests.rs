//! Generated requests, well-formed, odd and broken, next to a client that behaves: the
//! server goes on, what it answers is HTTP and keeps the contract, and no order is
//! cancelled that no request named with a key.

mod answers;
mod generate;

use super::embedded::Embedded;
use crate::scenario::Tools;
use answers::{Sent, whole_answers};
use anyhow::{Context, bail};
use fastrand::Rng;
use generate::{KnownKeys, script};
use reqwest::{Client, StatusCode};
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

const REQUESTS: usize = 60_000;
const CONNECTIONS_AT_ONCE: usize = 64;

/// The orders that the client that behaves cancels. Beyond those that well-formed hostile
/// requests name, and a hundred that only a broken request could reach.
const OWN_ORDERS: RangeInclusive<i64> = 301..=400;

/// How long a connection is read after its last byte came: far longer than an answer
/// takes. Requests that are not whole get none.
const QUIET: Duration = Duration::from_millis(40);

/// How many violations are reported whole.
const SHOWN: usize = 10;

const PUBLIC_PAGES: [&str; 6] =
    ["/docs", "/openapi.json", "/changelog", "/favicon.ico", " / ", "/ HTTP"];

/// What the hostile clients saw together.
#[derive(Default)]
struct Tally {
    connections: usize,
    requests: usize,
    statuses: BTreeMap<u16, usize>,
    /// Orders that bytes with a valid key named.
    named: HashSet<i64>,
    violations: Vec<String>,
}

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let Embedded { data, key: own, _directory } = Embedded::new(tools, *OWN_ORDERS.end())?;
    data.run_with_input(&["pets", "import", "-"], b"id,name\n7,Rex\n")?;
    let keys = known_keys(&data)?;
    let server = data.serve(&["--log-level", "warning"])?;
    let stop = Arc::new(AtomicBool::new(false));
    let behaving = tokio::spawn(behave(server.base_url().to_string(), own, Arc::clone(&stop)));

    let began = Instant::now();
    let tally = hostile_clients(server.address()?, &Arc::new(keys)).await?;
    let took = began.elapsed();
    stop.store(true, Ordering::Relaxed);
    let (good, cancelled) = behaving.await.context("the client that behaves panicked")??;

    report.figure(format!(
        "{} requests on {} connections in {took:.1?}; {good} requests of the client that behaves",
        tally.requests, tally.connections
    ));
    let classes: Vec<String> =
        tally.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    let answered: usize = tally.statuses.values().sum();
    report.figure(format!("{answered} whole answers ({})", classes.join(", ")));
    report.expect(answered > REQUESTS / 4, || format!("only {answered} whole answers"));
    let found = tally.violations.len();
    report.expect(found == 0, || format!("{found} answers in all break the contract"));
    for violation in tally.violations.into_iter().take(SHOWN) {
        report.expect(false, || violation);
    }
    report.expect(server.process().is_running(), || "the server ended".to_string());
    server.signal(Signal::TERM)?;
    let (status, log) = server.wait()?;
    report.expect(status.success(), || format!("the server ended with {status}"));
    let panicked = log.lines().find(|line| line.contains("panicked"));
    report.expect(panicked.is_none(), || panicked.unwrap_or_default().to_string());

    let stored = data.run_json(&["orders", "list", "--status", "cancelled"])?;
    let rows = stored.as_array().into_iter().flatten();
    let stored: HashSet<i64> = rows.filter_map(|row| row.get("id")?.as_i64()).collect();
    report.figure(format!("{} of {} orders cancelled", stored.len(), OWN_ORDERS.end()));
    for order in &stored {
        report.expect(tally.named.contains(order) || OWN_ORDERS.contains(order), || {
            format!("order {order} is cancelled, and no request with a key named it")
        });
    }
    let lost = cancelled.difference(&stored).count();
    report.expect(lost == 0, || format!("{lost} acknowledged cancels were lost"));
    data.run(&["check"]).map(drop)
}

fn known_keys(data: &DataDir) -> anyhow::Result<KnownKeys> {
    let wide = data.issue_enterprise_key("wide", u32::MAX, u32::MAX)?.text;
    let narrow = data.issue_key("narrow", "free")?.text;
    let revoked = data.issue_key("revoked", "free")?;
    data.run(&["keys", "revoke", &revoked.id])?;
    let flipped = wide.get(..wide.len() - 1).unwrap_or_default().to_string() + "~";
    let invalid = vec![revoked.text, flipped, wide.replace("live", "test"), "x".repeat(45)];
    // The narrow one is soon limited, then banned.
    Ok(KnownKeys { valid: vec![wide.clone(), wide.clone(), wide, narrow], invalid })
}

/// A client that lists, looks a pet up, and cancels now and then; how many requests it
/// made, and which orders it cancelled. Anything but what it expects is an error.
async fn behave(
    base: String,
    key: Key,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<(usize, HashSet<i64>)> {
    let http = Client::new();
    let (mut own, mut requests, mut cancelled) = (OWN_ORDERS, 0, HashSet::new());
    while !stop.load(Ordering::Relaxed) {
        for path in ["/store/orders", "/pets/7"] {
            let answer = http.get(format!("{base}{path}")).bearer_auth(&key.text).send().await;
            let answer = answer.context("the client that behaves")?;
            if answer.status() != StatusCode::OK {
                bail!("the client that behaves got {} for {path}", answer.status());
            }
            answer.json::<serde_json::Value>().await?;
            requests += 1;
        }
        if let Some(order) = own.next() {
            let url = format!("{base}/store/orders/{order}");
            let status = http.delete(url).bearer_auth(&key.text).send().await?.status();
            if status != StatusCode::NO_CONTENT {
                bail!("the client that behaves got {status} for order {order}");
            }
            cancelled.insert(order);
            requests += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok((requests, cancelled))
}

async fn hostile_clients(address: SocketAddr, keys: &Arc<KnownKeys>) -> anyhow::Result<Tally> {
    let seed = fastrand::u64(..);
    let (next, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS_AT_ONCE {
        let (keys, next, sent) = (Arc::clone(keys), Arc::clone(&next), Arc::clone(&sent));
        clients.spawn(async move {
            let mut tally = Tally::default();
            while sent.load(Ordering::Relaxed) < REQUESTS {
                let number = next.fetch_add(1, Ordering::Relaxed) as u64;
                let requests =
                    connection(address, seed.wrapping_add(number), &keys, &mut tally).await?;
                sent.fetch_add(requests, Ordering::Relaxed);
            }
            anyhow::Ok(tally)
        });
    }
    let mut all = Tally::default();
    while let Some(ended) = clients.join_next().await {
        let tally = ended.context("a hostile client panicked")??;
        all.connections += tally.connections;
        all.requests += tally.requests;
        all.named.extend(tally.named);
        all.violations.extend(tally.violations);
        for (status, count) in tally.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
    }
    Ok(all)
}

/// Sends one script and judges what comes back; how many requests it was.
async fn connection(
    address: SocketAddr,
    seed: u64,
    keys: &KnownKeys,
    tally: &mut Tally,
) -> anyhow::Result<usize> {
    let mut random = Rng::with_seed(seed);
    let script = script(&mut random, keys);
    // Many addresses, because requests without a key are limited by theirs.
    let from = Ipv4Addr::new(127, random.u8(1..), random.u8(..), random.u8(1..255));
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(IpAddr::V4(from), 0))?;
    let mut connection = socket.connect(address).await.context("the server does not accept")?;
    let received = exchange(&mut connection, &script.bytes).await;
    let text = String::from_utf8_lossy(&script.bytes);
    let has_valid_key = keys.valid.iter().any(|key| text.contains(key));
    if has_valid_key {
        tally.named.extend(named_orders(&script.bytes));
    }
    let sent = Sent {
        has_valid_key,
        names_public_page: PUBLIC_PAGES.iter().any(|page| decoded(&script.bytes).contains(page)),
        has_head: text.contains("HEAD"),
    };
    tally.connections += 1;
    tally.requests += script.requests;
    // What follows is frames of HTTP/2.
    if script.bytes.starts_with(b"PRI ") {
        return Ok(script.requests);
    }
    let mut note = |violation: String| {
        let mut shown = text.escape_debug().to_string();
        for key in keys.valid.iter().chain(&keys.invalid) {
            shown = shown.replace(key, "[key]");
        }
        let shown: String = shown.chars().take(2_000).collect();
        tally.violations.push(format!("{violation}; connection {seed}: {shown}"));
    };
    match whole_answers(&received, sent) {
        Ok(answers) => {
            for answer in answers {
                if let Some(violation) = answer.violation(sent) {
                    note(violation);
                }
                *tally.statuses.entry(answer.status).or_default() += 1;
            }
        }
        Err(error) => note(error),
    }
    Ok(script.requests)
}

/// Sends the bytes while it reads, until the server is done or says nothing more.
async fn exchange(connection: &mut tokio::net::TcpStream, bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = connection.split();
    let mut received = Vec::new();
    let send = async {
        // The server may close before it has read everything.
        let _ = writer.write_all(bytes).await;
        std::future::pending::<()>().await;
    };
    let receive = async {
        while let Ok(Ok(read)) = tokio::time::timeout(QUIET, reader.read_buf(&mut received)).await {
            if read == 0 {
                break;
            }
        }
    };
    tokio::select! {
        () = receive => {}
        () = send => {}
    }
    received
}

/// Every order that something like a cancellation names, at any place: what the server
/// takes for a request depends on what it takes for the body before it.
fn named_orders(bytes: &[u8]) -> Vec<i64> {
    let text = decoded(bytes);
    let lines = text.split("DELETE").skip(1).filter_map(|rest| rest.lines().next());
    let ids = lines.filter_map(|line| {
        let (_, rest) = line.split_once("/v1/store/orders/")?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    });
    ids.collect()
}

/// The bytes as text, percent-decoded.
fn decoded(bytes: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                decoded.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
