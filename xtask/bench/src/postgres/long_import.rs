//! Lists and cancels of three replicas while a million orders are imported.

use super::{Bench, REPLICAS, Store};
use crate::cancels::cancelling;
use crate::lists::LIST;
use crate::load::{Work, request};
use crate::machine::Side;
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::spread::Spread;
use crate::table::{Row, Target, grouped};
use anyhow::{bail, ensure};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testbed::postgres::DATABASE;

/// Orders that there are before, and those that are imported; both with `--quick`.
const ORDERS: i64 = 6_000_000;
const IMPORTED: i64 = 1_000_000;
const QUICKLY: i64 = 100_000;

/// Shorter rounds than this are those of `--quick`.
const QUICK: Duration = Duration::from_millis(500);

/// How long each client rests between two requests.
const REST: Duration = Duration::from_millis(10);

/// For how long requests are measured before the import and after it: what else the machine does
/// changes within minutes.
const SPAN: Duration = Duration::from_secs(15);

/// Of one kind of request: when each was sent, and how long it waited.
type Waits = Mutex<Vec<(Instant, Duration)>>;

/// Measures both.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let bench = Bench::start(setup, Side::Both)?;
    let store = bench.store(setup, DATABASE)?;
    let (orders, imported) =
        if setup.span < QUICK { (QUICKLY, QUICKLY) } else { (ORDERS, IMPORTED) };
    import(&store, &file_of(setup, 1..=orders)?)?.wait()?;
    let file = file_of(setup, orders + 1..=orders + imported)?;
    let servers = (0..REPLICAS)
        .map(|_| store.for_another(setup)?.serve(&[]))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let list = Work::Same(request("HEAD", LIST, Some(&store.key), false));
    let cancel = cancelling(&store.key, 1, orders);
    let (lists, cancels, is_over) = (Waits::default(), Waits::default(), &AtomicBool::new(false));
    let (usual, during) = std::thread::scope(|scope| {
        let clients: Vec<_> = servers
            .iter()
            .flat_map(|server| [(server, &list, 200, &lists), (server, &cancel, 204, &cancels)])
            .map(|(server, work, status, waits)| {
                scope.spawn(move || client(server, work, status, waits, is_over))
            })
            .collect();
        let phases = phases(&store, &file);
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        phases
    })?;
    let took = during.end.duration_since(during.start);
    let mut rows = Vec::new();
    for (what, waits) in [("list", &lists), ("cancel", &cancels)] {
        let [without, with] =
            [&usual[..], std::slice::from_ref(&during)].map(|times| quantiles(waits, times));
        for ((name, without), with) in ["p50", "p99"].into_iter().zip(without?).zip(with?) {
            rows.push(Row::single(
                format!(
                    "{what}, {REPLICAS} replicas, {name} while {} orders are imported in {:.0} s",
                    grouped(imported as f64),
                    took.as_secs_f64()
                ),
                format!("{} µs", grouped(with)),
                format!("without: {} µs", grouped(without)),
                with / without,
                Target::AtMost(2.0),
            ));
        }
    }
    Ok(rows)
}

/// Half of the requests, and 99 % of them, that were sent in these times waited for this many
/// microseconds at most.
fn quantiles(waits: &Waits, times: &[Range<Instant>]) -> anyhow::Result<[f64; 2]> {
    let waits = waits.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?;
    let within = waits.iter().filter(|(sent, _)| times.iter().any(|time| time.contains(sent)));
    let mut times: Vec<f64> = within.map(|(_, wait)| wait.as_secs_f64() * 1e6).collect();
    ensure!(!times.is_empty(), "no request was measured");
    times.sort_unstable_by(f64::total_cmp);
    Ok([0.5, 0.99].map(|part| Spread::quantile(&times, part)))
}

/// The times before and after the import, and during it.
fn phases(store: &Store, file: &Path) -> anyhow::Result<(Vec<Range<Instant>>, Range<Instant>)> {
    let span = || {
        let began = Instant::now();
        std::thread::sleep(SPAN);
        began..Instant::now()
    };
    let before = span();
    let began = Instant::now();
    ensure!(import(store, file)?.wait()?.success(), "the import failed");
    let during = began..Instant::now();
    Ok((vec![before, span()], during))
}

/// A file of pending orders.
fn file_of(setup: &mut BenchSetup, ids: RangeInclusive<i64>) -> anyhow::Result<PathBuf> {
    let file = setup.new_directory()?.join("orders.csv");
    let mut text = "id,petId,quantity\n".to_string();
    for id in ids {
        writeln!(text, "{id},7,1")?;
    }
    std::fs::write(&file, text)?;
    Ok(file)
}

/// The command under way.
fn import(store: &Store, file: &Path) -> anyhow::Result<Child> {
    let mut command = store.data.command();
    command.args(["orders", "import"]).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    Side::Both.run(|| Ok(command.spawn()?))
}

/// One request after the other until it is over. Of a list the head is waited for, which is sent
/// once the list is known.
fn client(
    server: &MeasuredServer,
    work: &Work,
    status: u16,
    waits: &Waits,
    is_over: &AtomicBool,
) -> anyhow::Result<()> {
    let (mut request, mut connection) = (Vec::new(), TcpStream::connect(server.address)?);
    connection.set_nodelay(true)?;
    let expected = format!("HTTP/1.1 {status} ");
    while !is_over.load(Ordering::Relaxed) && work.next(&mut request) {
        let sent = Instant::now();
        connection.write_all(&request)?;
        let (mut answer, mut part) = (Vec::new(), [0; 4_096]);
        while !answer.ends_with(b"\r\n\r\n") {
            let length = connection.read(&mut part)?;
            ensure!(length > 0, "a connection was closed");
            answer.extend_from_slice(part.get(..length).unwrap_or_default());
        }
        let waited = sent.elapsed();
        let answer = String::from_utf8_lossy(&answer);
        if !answer.starts_with(&expected) {
            bail!("after {waited:?} an answer was not {status}: {answer}{}", server.complaints());
        }
        waits.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?.push((sent, waited));
        std::thread::sleep(REST);
    }
    Ok(())
}
