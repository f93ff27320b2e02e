//! Operators' commands and a full load of cancellations on disks of several speeds: no command
//! starves, and none starves the cancellations.

use super::embedded::Embedded;
use crate::scenario::Tools;
use history::workload::Load;
use history::{Clients, Journal, Traffic};
use std::process::Output;
use std::time::{Duration, Instant};
use testbed::{Preload, Report, ServerProcess};
use tokio::process::Command;
use tokio::task::{JoinSet, block_in_place};

const LOAD: Load = Load { writers: 16, listers: 0, walkers: 0 };
const ORDERS: usize = 100_000;

/// How many commands run at each speed, one after the other.
const COMMANDS: usize = 5;

/// How much slower each fsync is, and how long a command may take then.
const SPEEDS: [(Duration, Duration); 5] = [
    (Duration::ZERO, Duration::from_secs(1)),
    (Duration::from_millis(5), Duration::from_secs(1)),
    (Duration::from_millis(20), Duration::from_secs(1)),
    (Duration::from_millis(100), Duration::from_secs(4)),
    (Duration::from_millis(500), Duration::from_secs(4)),
];

/// Commands in a loop, for how long and on which disk.
const OPERATORS: usize = 8;
const LOOP: Duration = Duration::from_secs(6);
const LOOP_SLOWER: Duration = Duration::from_millis(20);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for (slower, bound) in SPEEDS {
        let loaded = LoadedServer::start(tools, slower)?;
        let mut slowest = Duration::ZERO;
        for _ in 0..COMMANDS {
            let began = Instant::now();
            expect_success(&loaded.command().output().await?, report);
            slowest = slowest.max(began.elapsed());
            tokio::time::sleep(Duration::from_millis(fastrand::u64(20..200))).await;
        }
        report.time(format!("slowest command, fsync {slower:?} slower"), slowest, bound);
        loaded.stop(report).await?;
    }
    // Between two commands a batch is written, which each client has a cancellation in.
    let loaded = LoadedServer::start(tools, LOOP_SLOWER)?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (before, until) = (loaded.acknowledged(), Instant::now() + LOOP);
    let mut operators = JoinSet::new();
    for _ in 0..OPERATORS {
        let mut command = loaded.command();
        operators.spawn(async move {
            let mut outputs = Vec::new();
            while Instant::now() < until {
                outputs.push(command.output().await?);
            }
            anyhow::Ok(outputs)
        });
    }
    let mut done = 0;
    while let Some(outputs) = operators.join_next().await {
        let outputs = outputs??;
        done += outputs.len();
        outputs.iter().for_each(|output| expect_success(output, report));
    }
    let cancels = loaded.acknowledged() - before;
    report.figure(format!("{cancels} cancels next to {done} commands in a loop"));
    report.expect_unless_stalled(cancels >= done, || {
        "commands in a loop starve cancellations".to_string()
    });
    loaded.stop(report).await
}

fn expect_success(output: &Output, report: &mut Report) {
    // It waits for a minute to write.
    report.expect(output.status.success(), || {
        format!("a command failed: {}", String::from_utf8_lossy(&output.stderr))
    });
}

/// A server on a slow disk, with clients that cancel.
struct LoadedServer {
    disk: Preload,
    slower: Duration,
    store: Embedded,
    server: ServerProcess,
    traffic: Traffic,
}

impl LoadedServer {
    fn start(tools: &Tools, slower: Duration) -> anyhow::Result<LoadedServer> {
        let (disk, store) = (Preload::disk()?, Embedded::new(tools, i64::try_from(ORDERS)?)?);
        let flags = ["--log-level", "warning"];
        let server = store.data.start(disk.put_into(&mut store.data.command()), &flags)?;
        disk.set(i64::try_from(slower.as_millis())?)?;
        let bases = vec![server.base_url().to_string()];
        let clients = Clients { load: LOAD, ..Clients::new(bases, &store.key, ORDERS) };
        let traffic = clients.start(Journal::new(None))?;
        traffic.workload.pool.set_rests(0);
        Ok(LoadedServer { disk, slower, store, server, traffic })
    }

    /// How many cancellations were acknowledged.
    fn acknowledged(&self) -> usize {
        self.traffic.workload.journal.figures().acknowledged.len()
    }

    /// A command that writes, on the same disk.
    fn command(&self) -> Command {
        let mut command = self.store.data.command();
        command.args(["keys", "issue", "--account", "clients", "--json"]);
        self.disk.put_into(&mut command);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        command
    }

    /// Ends the load, then the server. No cancellation may have been refused.
    async fn stop(self, report: &mut Report) -> anyhow::Result<()> {
        let seen = self.traffic.stop().await?;
        let stopped = self.disk.set(0).and_then(|()| self.server.stop());
        let is_slow = self.slower.is_zero() || self.disk.was_used();
        report.expect(is_slow, || "no sync met the slow disk".to_string());
        let unavailable = seen.figures().count("503");
        report.expect_unless_stalled(unavailable == 0, || {
            format!("{unavailable} cancellations were refused")
        });
        let ended = block_in_place(|| seen.end(&self.store.data));
        seen.judge(report);
        stopped.and(ended)
    }
}
