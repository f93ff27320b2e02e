//! Lists and cancels of three replicas while six million orders are imported, and while an import
//! is rolled back whose command was killed.

use super::{Bench, REPLICAS, Store};
use crate::cancels::cancelling;
use crate::lists::LIST;
use crate::load::{Work, request};
use crate::machine::{Side, resident};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::spread::Spread;
use crate::table::{Row, Target, grouped};
use anyhow::{Context, bail, ensure};
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

/// Orders that there are before.
const ORDERS: i64 = 100_000;

/// Those of each import, and as many with `--quick`.
const IMPORTED: i64 = 6_000_000;
const IMPORTED_QUICKLY: i64 = 100_000;

/// Shorter rounds than this are those of `--quick`.
const QUICK: Duration = Duration::from_millis(500);

/// How long each client rests between two requests.
const REST: Duration = Duration::from_millis(10);

/// For how long requests are measured while another program computes, and after an import that was
/// killed. Without an import it is twice this long before these, and after them: what else the
/// machine does changes within minutes.
const SPAN: Duration = Duration::from_secs(10);

/// Of one kind of request: when each was sent, and how long it waited.
type Waits = Mutex<Vec<(Instant, Duration)>>;

/// Measures both.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let bench = Bench::start(setup, Side::Both)?;
    let store = bench.store(setup, DATABASE)?;
    import(&store, &orders(setup, 1..=ORDERS)?)?.wait()?;
    let imported = if setup.span < QUICK { IMPORTED_QUICKLY } else { IMPORTED };
    let files = [
        orders(setup, ORDERS + 1..=ORDERS + imported)?,
        orders(setup, ORDERS + imported + 1..=ORDERS + 2 * imported)?,
    ];
    let servers = (0..REPLICAS)
        .map(|_| store.for_another(setup)?.serve(&[]))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let list = Work::Same(request("HEAD", LIST, Some(&store.key), false));
    let cancel = cancelling(&store.key, 1, ORDERS);
    let (lists, cancels, is_over) = (Waits::default(), Waits::default(), &AtomicBool::new(false));
    let mut memory = Vec::new();
    let phases = std::thread::scope(|scope| {
        let clients: Vec<_> = servers
            .iter()
            .flat_map(|server| [(server, &list, 200, &lists), (server, &cancel, 204, &cancels)])
            .map(|(server, work, status, waits)| {
                scope.spawn(move || client(server, work, status, waits, is_over))
            })
            .collect();
        let measured = bench.phases(&store, &files, imported, &servers, &mut memory);
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        measured
    })?;
    let [usual, computing, imports @ ..] = phases;
    let imports = imports.iter().map(|phase| (phase, Target::AtMost(2.0)));
    let compared: Vec<_> = std::iter::once((&computing, Target::None)).chain(imports).collect();
    let mut rows = Vec::new();
    for (what, waits) in [("list", &lists), ("cancel", &cancels)] {
        let [half, most] = usual.quantiles(waits)?;
        for &(phase, target) in &compared {
            let [own_half, own_most] = phase.quantiles(waits)?;
            rows.push(Row::single(
                format!("{what}, {REPLICAS} replicas, {}", phase.name),
                format!("p50 {} µs, p99 {} µs", grouped(own_half), grouped(own_most)),
                format!("without: p50 {} µs, p99 {} µs", grouped(half), grouped(most)),
                own_most / most,
                target,
            ));
        }
    }
    let [before, at_most] = memory[..] else { bail!("no memory was measured") };
    let mib = |bytes: u64| grouped(bytes as f64 / 1024.0 / 1024.0);
    rows.push(Row::single(
        format!("memory of a replica while it takes over {} orders", grouped(imported as f64)),
        format!("at most {} MiB", mib(at_most)),
        format!("before: {} MiB", mib(before)),
        f64::NAN,
        Target::None,
    ));
    Ok(rows)
}

/// A time in which something happens, or several.
struct Phase {
    name: &'static str,
    times: Vec<Range<Instant>>,
}

impl Phase {
    /// Half of the requests, and 99 % of them, waited for this many microseconds at most.
    fn quantiles(&self, waits: &Waits) -> anyhow::Result<[f64; 2]> {
        let waits = waits.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?;
        let is_within = |sent| self.times.iter().any(|time| time.contains(sent));
        let within = waits.iter().filter(|(sent, _)| is_within(sent));
        let mut times: Vec<f64> = within.map(|(_, wait)| wait.as_secs_f64() * 1e6).collect();
        ensure!(!times.is_empty(), "no request {}", self.name);
        times.sort_unstable_by(f64::total_cmp);
        Ok([0.5, 0.99].map(|part| Spread::quantile(&times, part)))
    }
}

impl Bench {
    /// Without an import, without one and with a busy core, during one that is killed and after it,
    /// and during one that is not.
    fn phases(
        &self,
        store: &Store,
        [killed, committed]: &[PathBuf; 2],
        imported: i64,
        servers: &[MeasuredServer],
        memory: &mut Vec<u64>,
    ) -> anyhow::Result<[Phase; 5]> {
        let mut began = Instant::now();
        let mut phase = |name| {
            let from = std::mem::replace(&mut began, Instant::now());
            Phase { name, times: vec![from..began] }
        };
        std::thread::sleep(2 * SPAN);
        let mut usual = phase("without an import");
        compute(SPAN);
        let computing = phase("while another program computes on one core");
        let mut import_to_kill = import(store, killed)?;
        self.wait_until_copied(imported / 2)?;
        let written = phase("while half of an import is written");
        import_to_kill.kill()?;
        import_to_kill.wait()?;
        std::thread::sleep(SPAN);
        let rolled_back = phase("while that is rolled back after kill -9");
        std::thread::sleep(2 * SPAN);
        usual.times.extend(phase("once it is").times);
        let resident_most = || servers.iter().filter_map(|one| resident(one.pid().ok()?)).max();
        memory.push(resident_most().context("the servers have ended")?);
        let (mut import, mut most) = (import(store, committed)?, 0);
        while import.try_wait()?.is_none() {
            most = most.max(resident_most().unwrap_or(0));
            std::thread::sleep(Duration::from_millis(100));
        }
        ensure!(import.wait()?.success(), "the import failed");
        memory.push(most.max(resident_most().unwrap_or(0)));
        let shown = phase("while all of an import is written and shown");
        Ok([usual, computing, written, rolled_back, shown])
    }

    /// Waits until an import has written this many rows.
    fn wait_until_copied(&self, rows: i64) -> anyhow::Result<()> {
        let query = "SELECT coalesce(max(tuples_processed), 0) FROM pg_stat_progress_copy";
        self.runtime.block_on(async {
            let admin = self.postgres.admin(DATABASE).await?;
            while admin.query_one(query, &[]).await?.try_get::<_, i64>(0)? < rows {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        })
    }
}

/// What any program does that has work for one core: it tells the price of sharing the cores from
/// that of an import.
fn compute(span: Duration) {
    let began = Instant::now();
    while began.elapsed() < span {}
}

/// A file of pending orders.
fn orders(setup: &mut BenchSetup, ids: RangeInclusive<i64>) -> anyhow::Result<PathBuf> {
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
