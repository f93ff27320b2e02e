//! A disk that is really full: refused cancellations say when to try again, none that was
//! acknowledged is lost, lists go on, commands fail with one line, and the server heals by
//! itself as soon as there is room.

use super::clients::{Cancelling, Seen, cancel};
use anyhow::{Context, bail};
use futures::future::join_all;
use reqwest::{Client, StatusCode};
use std::collections::HashSet;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Program, Report, ServerProcess, SmallDisk};
use tokio::signal::unix::{SignalKind, signal};

const DISK_KIB: u64 = 24 * 1024;
const ORDERS: i64 = 20_000;
const CLIENTS: usize = 8;

/// How long the disk is full beside clients and commands.
const FULL_FOR: Duration = Duration::from_secs(2);

/// The server finds out that there is room with the next cancellation.
const HEALS_WITHIN: Duration = Duration::from_secs(2);

/// The longest that a client may wait for a refusal.
const REFUSED_WITHIN: Duration = Duration::from_secs(5);

/// What is left of the disk for the write-ahead log, far less than SQLite lets it grow to.
const LOG_KIB: usize = 256;

/// Runs it. A signal ends it early, so that no disk stays mounted.
pub async fn run(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        ended = all(program, report) => ended,
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("interrupted"),
    }
}

async fn all(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    full_before_the_first_cancel(program, report).await?;
    fills_beside_clients(program, report).await?;
    log_fills_the_disk(program, report).await
}

/// A store on a small disk.
struct SmallStore {
    // Dropped before the disk.
    data: DataDir,
    key: Key,
    disk: SmallDisk,
}

impl SmallStore {
    fn new(program: &Program) -> anyhow::Result<SmallStore> {
        let disk = SmallDisk::mount(DISK_KIB)?;
        let data = DataDir::at(program, disk.path());
        data.import_pending(1..=ORDERS)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        data.run(&["accounts", "create", "acme", "--plan", "pro"])?;
        Ok(SmallStore { data, key, disk })
    }

    fn serve(&self) -> anyhow::Result<ServerProcess> {
        self.data.serve(&["--log-level", "warning"])
    }

    /// The orders that the server lists.
    async fn listed(&self, server: &ServerProcess) -> anyhow::Result<usize> {
        let list = Client::new().get(format!("{}/store/orders", server.base_url()));
        let answer = list.bearer_auth(&self.key.text).send().await?.error_for_status()?;
        Ok(answer.json::<Vec<serde_json::Value>>().await?.len())
    }

    /// Holds what is stored against what was acknowledged.
    fn compare(&self, what: &str, seen: &[Seen], report: &mut Report) -> anyhow::Result<()> {
        let stored = self.data.run_json(&["orders", "list", "--status", "cancelled"])?;
        let rows = stored.as_array().into_iter().flatten();
        let stored: HashSet<i64> = rows.filter_map(|row| row.get("id")?.as_i64()).collect();
        let done = seen.iter().filter(|seen| seen.status == Some(StatusCode::NO_CONTENT));
        let acknowledged: HashSet<i64> = done.map(|seen| seen.order).collect();
        let lost = acknowledged.difference(&stored).count();
        report.expect(lost == 0, || format!("{what}: {lost} acknowledged cancels were lost"));
        // Nobody carried out what was refused, unless it was acknowledged later.
        let extra = stored.difference(&acknowledged).count();
        report.expect(extra == 0, || format!("{what}: {extra} orders cancelled for nobody"));
        // Exits with an error if it finds anything.
        if let Err(error) = self.data.run(&["check"]) {
            report.expect(false, || format!("{what}: {error:#}"));
        }
        Ok(())
    }
}

/// Every answer is a 204, or a 503 that says when to try again; the refused ones.
fn judge_answers<'a>(what: &str, seen: &'a [Seen], report: &mut Report) -> Vec<&'a Seen> {
    let refused = |seen: &&Seen| seen.status == Some(StatusCode::SERVICE_UNAVAILABLE);
    for other in seen.iter().filter(|seen| seen.status != Some(StatusCode::NO_CONTENT)) {
        report.expect(refused(&other) && other.has_retry_after, || {
            format!(
                "{what}: order {}: {:?}, Retry-After {}",
                other.order, other.status, other.has_retry_after
            )
        });
    }
    let refused: Vec<_> = seen.iter().filter(refused).collect();
    let slowest = refused.iter().map(|seen| seen.took).max().unwrap_or_default();
    report.time(format!("{what}: the slowest refusal"), slowest, REFUSED_WITHIN);
    refused
}

/// A command that fails with one line, which names the reason.
fn judge_command(what: &str, output: &Output, report: &mut Report) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_clear = error.starts_with("error: ")
        && error.trim_end().lines().count() == 1
        && (error.contains("full") || error.contains("No space left"));
    report.expect(output.status.code() == Some(1) && is_clear, || {
        format!("{what} on a full disk: {}, {error:?}", output.status)
    });
}

/// A backup, or the copy that becomes one.
fn is_of_backup(name: &str) -> bool {
    name == "b.sqlite" || name.starts_with(".store-orders-")
}

/// Cancels until one is carried out; how long that took, and every answer.
async fn heal(http: &Client, base: &str, key: &Key, order: i64) -> (Duration, Seen) {
    let began = Instant::now();
    loop {
        let seen = cancel(http, base, key, order).await;
        let is_done = seen.status == Some(StatusCode::NO_CONTENT);
        if is_done || began.elapsed() > 10 * HEALS_WITHIN {
            return (began.elapsed(), seen);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// No cancel has made room in the write-ahead log: every one is refused.
async fn full_before_the_first_cancel(
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let store = SmallStore::new(program)?;
    let server = store.serve()?;
    let (http, base, key) = (Client::new(), server.base_url().to_string(), &store.key);
    let full = store.disk.keep_full()?;
    let mut seen = join_all((1..=100).map(|order| cancel(&http, &base, key, order))).await;
    let refused = judge_answers("full from the start", &seen, report).len();
    report.figure(format!("full from the start: {refused} of {} cancels refused", seen.len()));
    report.expect(refused == seen.len(), || "a cancel found room on a full disk".to_string());
    let listed = store.listed(&server).await?;
    report.expect(listed == ORDERS as usize, || format!("a list shows {listed} orders"));
    for arguments in [
        &["keys", "issue", "--account", "acme"][..],
        &["accounts", "create", "other", "--plan", "free"],
        &["orders", "ship", "19999"],
        &["backup", "b.sqlite"],
    ] {
        let mut command = store.data.command();
        command.args(arguments).current_dir(store.disk.path());
        judge_command(&arguments.join(" "), &command.output()?, report);
    }
    let left = std::fs::read_dir(store.disk.path())?.flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| is_of_backup(&name.to_string_lossy())).collect();
    report.expect(left.is_empty(), || format!("the backup left {left:?}"));

    drop(full);
    let (took, first) = heal(&http, &base, key, 1).await;
    report.time("the first cancel after there is room", took, HEALS_WITHIN);
    seen.push(first);
    seen.extend(join_all((2..=100).map(|order| cancel(&http, &base, key, order))).await);
    // A full disk ends a server no more than it loses what it had acknowledged.
    let _full = store.disk.keep_full()?;
    server.kill()?;
    let restarted = store.serve();
    report.figure(match &restarted {
        Ok(_) => "killed and started again on the full disk: it serves".to_string(),
        Err(error) => format!("killed and started again on the full disk: {error:#}"),
    });
    drop((restarted, _full));
    store.serve()?.stop()?;
    store.compare("full from the start", &seen, report)
}

/// The disk fills while clients cancel and commands run, and has room again.
async fn fills_beside_clients(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let store = SmallStore::new(program)?;
    let server = store.serve()?;
    let next = Arc::new(AtomicI64::new(1));
    // The last order is for the first cancellation after there is room.
    let load = Cancelling::start(CLIENTS, server.base_url(), &store.key, &next, ORDERS - 1);
    let commands = Commands::start(&store.data);
    tokio::time::sleep(Duration::from_millis(fastrand::u64(200..800))).await;
    let full = store.disk.keep_full()?;
    let filled = Instant::now();
    let mut lists = 0;
    while filled.elapsed() < FULL_FOR {
        store.listed(&server).await.context("a list on a full disk")?;
        lists += 1;
    }
    drop(full);
    let done = load.done();
    let room = Instant::now();
    let (http, base) = (Client::new(), server.base_url().to_string());
    let (took, first) = heal(&http, &base, &store.key, ORDERS).await;
    report.time("beside clients: the first cancel after there is room", took, HEALS_WITHIN);
    let issued = commands.until_one_succeeds(room).await?;
    report.time("beside clients: the first command after there is room", issued, HEALS_WITHIN);
    let (issued, failures) = commands.stop().await?;
    let mut seen = load.stop().await?;
    seen.push(first);
    let refused = judge_answers("beside clients", &seen, report).len();
    report.figure(format!(
        "beside clients: {} cancels, {done} when there was room again; {refused} refused, \
         {lists} lists meanwhile; {} commands done, {} failed",
        seen.len(),
        issued.len(),
        failures.len()
    ));
    for failure in &failures {
        judge_command("keys issue", failure, report);
    }
    server.stop()?;
    store.serve()?.kill()?;
    let stored = store.data.run_json(&["keys", "list"])?;
    let rows = stored.as_array().into_iter().flatten();
    let stored: HashSet<&str> = rows.filter_map(|row| row.get("id")?.as_str()).collect();
    let lost = issued.iter().filter(|id| !stored.contains(id.as_str())).count();
    report.expect(lost == 0, || format!("{lost} of {} keys were lost", issued.len()));
    store.compare("beside clients", &seen, report)
}

/// The write-ahead log itself fills the disk, long before SQLite would checkpoint it.
async fn log_fills_the_disk(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let store = SmallStore::new(program)?;
    let server = store.serve()?;
    store.disk.fill(LOG_KIB)?;
    let (http, base) = (Client::new(), server.base_url().to_string());
    let mut seen = Vec::new();
    for order in 1..=500 {
        seen.push(cancel(&http, &base, &store.key, order).await);
        if seen.last().is_some_and(|seen| seen.status != Some(StatusCode::NO_CONTENT)) {
            // Meanwhile the log was moved into the store's file, if that need not grow.
            seen.push(cancel(&http, &base, &store.key, order).await);
            break;
        }
    }
    let refused = judge_answers("the log fills the disk", &seen, report).len();
    report.figure(format!("the log fills {LOG_KIB} KiB after {} cancels", seen.len() - refused));
    report.expect(refused > 0, || "the log never filled the disk".to_string());
    let listed = store.listed(&server).await?;
    let cancelled = seen.len() - refused;
    report.expect(listed + cancelled == ORDERS as usize, || {
        format!("a list shows {listed} orders after {cancelled} cancels")
    });
    store.disk.make_room()?;
    let (took, healed) = heal(&http, &base, &store.key, ORDERS).await;
    seen.push(healed);
    report.time("the log fills the disk: the first cancel after there is room", took, HEALS_WITHIN);
    server.kill()?;
    store.serve()?.stop()?;
    store.compare("the log fills the disk", &seen, report)
}

/// A command that writes, again and again.
struct Commands {
    stop: Arc<AtomicBool>,
    /// How many succeeded.
    done: Arc<AtomicI64>,
    ended: tokio::task::JoinHandle<anyhow::Result<(Vec<String>, Vec<Output>)>>,
}

impl Commands {
    fn start(data: &DataDir) -> Commands {
        let mut command = data.command();
        command.args(["keys", "issue", "--account", "acme", "--json"]);
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&done));
        let ended = tokio::task::spawn_blocking(move || {
            let (mut issued, mut failures) = (Vec::new(), Vec::new());
            while !stopped.load(Ordering::Relaxed) {
                let output = command.output()?;
                if output.status.success() {
                    let key: serde_json::Value = serde_json::from_slice(&output.stdout)?;
                    issued.extend(key.get("id").and_then(|id| Some(id.as_str()?.to_string())));
                    count.fetch_add(1, Ordering::Relaxed);
                } else {
                    failures.push(output);
                }
            }
            anyhow::Ok((issued, failures))
        });
        Commands { stop, done, ended }
    }

    /// Waits for one that succeeds; how long after this moment it did.
    async fn until_one_succeeds(&self, since: Instant) -> anyhow::Result<Duration> {
        let before = self.done.load(Ordering::Relaxed);
        while self.done.load(Ordering::Relaxed) == before {
            if since.elapsed() > 10 * HEALS_WITHIN || self.ended.is_finished() {
                bail!("no command succeeded within {:?}", since.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(since.elapsed())
    }

    /// The ids of the issued keys, and the failures.
    async fn stop(mut self) -> anyhow::Result<(Vec<String>, Vec<Output>)> {
        self.stop.store(true, Ordering::Relaxed);
        (&mut self.ended).await.context("the commands panicked")?
    }
}

/// The runtime waits for its blocking threads, also after a drill that ended early.
impl Drop for Commands {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
