//! How many round trips to PostgreSQL a request waits for: two replicas behind a relay that
//! delivers late.

use super::{Bench, Store};
use crate::machine::Side;
use crate::server::MeasuredServer;
use crate::setup::{BenchSetup, order};
use crate::spread::Spread;
use crate::table::{Row, Target};
use anyhow::{Context, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeFrom;
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use testbed::DataDir;
use testbed::postgres::{DATABASE, USER};
use testbed::relay::{Fault, Relay};

/// From a statement to its answer. Everything else takes a twentieth of it.
const ROUND_TRIP: Duration = Duration::from_millis(40);

/// How often each request is sent.
const REQUESTS: usize = 25;

/// Those that list at the same time.
const CLIENTS: usize = 32;

/// More than are cancelled.
const ORDERS: u64 = 200;

/// What a request may wait for.
const LIST: f64 = 1.2;
const BUSY_LIST: f64 = 1.3;
const OTHERS: f64 = 2.2;

/// A request without its key.
type Request = (&'static str, String, u16);

/// Measures each kind of request.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let bench = Bench::start(setup, Side::Both)?;
    let relay = bench.runtime.block_on(async { Relay::to(bench.postgres.port) })?;
    let store = bench.store(setup, DATABASE)?;
    let lines: String = (1..=ORDERS).map(|id| order(id) + "\n").collect();
    store.data.run_with_input(&["orders", "import", "-"], lines.as_bytes())?;
    let serve = |setup: &mut BenchSetup| {
        let url = format!("postgres://{USER}@127.0.0.1:{}/{DATABASE}", relay.port);
        let directory = setup.new_directory()?;
        let data = DataDir::on_store(setup.program(), &directory, &url);
        Store { data, key: store.key.clone(), side: Side::Both }.serve(&[])
    };
    let (own, other) = (serve(setup)?, serve(setup)?);
    // A new server acknowledges no cancellation within its first second.
    std::thread::sleep(super::FIRST_ACKNOWLEDGED_AFTER);
    relay.set(Fault::Delay(ROUND_TRIP / 2));
    rows(&store.key, &own, &other)
}

fn rows(key: &str, own: &MeasuredServer, other: &MeasuredServer) -> anyhow::Result<Vec<Row>> {
    let mut clients = (Client::open(own.address, key)?, Client::open(other.address, key)?);
    let (mut ids, list) = (1.., || ("HEAD", "/v1/store/orders".to_string(), 200));
    let mut rows = Vec::new();
    let mut add = |name: &str, most: f64, waits: Vec<Duration>| rows.push(row(name, most, waits));
    let (own, other) = (&mut clients.0, &mut clients.1);
    for (name, most, request) in [
        ("list", LIST, list()),
        ("page of v2", LIST, ("HEAD", "/v2/store/orders".to_string(), 200)),
        ("order of v2", OTHERS, ("HEAD", format!("/v2/store/orders/{ORDERS}"), 200)),
        ("order of v2 that is none", OTHERS, ("HEAD", "/v2/store/orders/0".to_string(), 404)),
        ("pet", OTHERS, ("HEAD", "/v1/pets/1".to_string(), 404)),
        ("cancel of an unknown order", OTHERS, ("DELETE", "/v1/store/orders/0".to_string(), 404)),
    ] {
        add(name, most, repeated(|| own.wait(&request))?);
    }
    add("cancel", OTHERS, repeated(|| own.wait(&cancel(&mut ids)?))?);
    let after_own = || {
        own.wait(&cancel(&mut ids)?)?;
        own.wait(&list())
    };
    add("list after a cancel at the same replica", LIST, repeated(after_own)?);
    let after_other = || {
        other.wait(&cancel(&mut ids)?)?;
        own.wait(&list())
    };
    add("list after a cancel at another replica", LIST, repeated(after_other)?);
    let name = format!("list, {CLIENTS} clients");
    rows.push(row(&name, BUSY_LIST, at_once(own.address, key, &list())?));
    Ok(rows)
}

fn row(name: &str, most: f64, mut waits: Vec<Duration>) -> Row {
    waits.sort_unstable();
    let trips = |wait: &Duration| wait.as_secs_f64() / ROUND_TRIP.as_secs_f64();
    let trips: Vec<f64> = waits.iter().map(trips).collect();
    let [median, worst] = [0.5, 0.95].map(|part| Spread::quantile(&trips, part));
    Row::single(
        format!("{name}, PostgreSQL {} ms away", ROUND_TRIP.as_millis()),
        format!("{median:.1} round trips, p95 {worst:.1}"),
        "one round trip".to_string(),
        median,
        Target::AtMost(most),
    )
}

/// The cancellation of the next order.
fn cancel(ids: &mut RangeFrom<u64>) -> anyhow::Result<Request> {
    let id = ids.next().context("there are more ids")?;
    Ok(("DELETE", format!("/v1/store/orders/{id}"), 204))
}

fn repeated(mut wait: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<Vec<Duration>> {
    (0..REQUESTS).map(|_| wait()).collect()
}

/// What each of many clients waits that send one request after the other.
fn at_once(address: SocketAddr, key: &str, request: &Request) -> anyhow::Result<Vec<Duration>> {
    let (all, ready) = (Mutex::new(Vec::new()), Barrier::new(CLIENTS));
    let client = || {
        let opened = Client::open(address, key);
        ready.wait();
        let mut client = opened?;
        let waits = repeated(|| client.wait(request))?;
        all.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?.extend(waits);
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?
        })
    })?;
    all.into_inner().map_err(|_| anyhow::anyhow!("a client panicked"))
}

/// A connection and its key.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
    key: String,
}

impl Client {
    fn open(address: SocketAddr, key: &str) -> anyhow::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, address, key: key.to_string() })
    }

    /// How long a request waits for its answer.
    fn wait(&mut self, (method, path, status): &Request) -> anyhow::Result<Duration> {
        let (address, key) = (self.address, &self.key);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\r\n"
        );
        let (sent, mut answer) = (Instant::now(), Vec::new());
        self.stream.write_all(head.as_bytes())?;
        let mut part = [0; 4_096];
        loop {
            let length = self.stream.read(&mut part)?;
            ensure!(length > 0, "a connection was closed");
            answer.extend_from_slice(part.get(..length).unwrap_or_default());
            if is_whole(&String::from_utf8_lossy(&answer), method) {
                break;
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let expected = format!("HTTP/1.1 {status} ");
        ensure!(answer.starts_with(&expected), "{method} {path} was not {status}: {answer}");
        Ok(sent.elapsed())
    }
}

/// Whether nothing of an answer is missing; one to HEAD has no body.
fn is_whole(answer: &str, method: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    method == "HEAD" || body.len() >= length
}
