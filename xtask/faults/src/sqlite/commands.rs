//! Runs the operator's commands while clients cancel orders at full load, on disks of several
//! speeds. Commands must not starve cancellations, and cancellations must not starve commands.

use crate::scenario::Tools;
use history::workload::Load;
use history::{Clients, Journal, Traffic};
use std::process::Output;
use std::time::{Duration, Instant};
use testbed::{DataDir, Preload, Report, ServerProcess};
use tokio::process::Command;
use tokio::task::{JoinSet, block_in_place};

const LOAD: Load = Load { writers: 16, listers: 0, walkers: 0 };
const ORDERS: usize = 100_000;

/// The number of commands that are run with each fsync delay. Each command starts after the
/// previous one has ended.
const COMMANDS: usize = 5;

/// The delay of each fsync, and the time limit of a command with this delay.
const FSYNC_DELAYS: [(Duration, Duration); 5] = [
    (Duration::ZERO, Duration::from_secs(1)),
    (Duration::from_millis(5), Duration::from_secs(1)),
    (Duration::from_millis(20), Duration::from_secs(1)),
    (Duration::from_millis(100), Duration::from_secs(4)),
    (Duration::from_millis(500), Duration::from_secs(4)),
];

/// The number of operators that run commands in a loop at the same time.
const OPERATORS: usize = 8;
const LOOP_TIME: Duration = Duration::from_secs(6);
const LOOP_FSYNC_DELAY: Duration = Duration::from_millis(20);

pub async fn run(_: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for (fsync_delay, bound) in FSYNC_DELAYS {
        let loaded = LoadedServer::start(fsync_delay)?;
        let mut slowest = Duration::ZERO;
        for _ in 0..COMMANDS {
            let began = Instant::now();
            expect_success(&loaded.command().output().await?, report);
            slowest = slowest.max(began.elapsed());
            tokio::time::sleep(Duration::from_millis(fastrand::u64(20..200))).await;
        }
        report.time(format!("slowest command, fsync {fsync_delay:?} slower"), slowest, bound);
        loaded.stop(report).await?;
    }
    // After each command, the server must be able to write a batch before the next command writes.
    // So at least as many cancellations as commands must succeed.
    let loaded = LoadedServer::start(LOOP_FSYNC_DELAY)?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (before, until) = (loaded.acknowledged(), Instant::now() + LOOP_TIME);
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
    let mut commands = 0;
    while let Some(outputs) = operators.join_next().await {
        let outputs = outputs??;
        commands += outputs.len();
        outputs.iter().for_each(|output| expect_success(output, report));
    }
    let cancels = loaded.acknowledged() - before;
    report.figure(format!("{cancels} cancels next to {commands} commands in a loop"));
    report.expect_unless_stalled(cancels >= commands, || {
        "commands in a loop starve cancellations".to_string()
    });
    loaded.stop(report).await
}

fn expect_success(output: &Output, report: &mut Report) {
    // A command may wait up to a minute for the write lock, but must not fail.
    report.expect(output.status.success(), || {
        format!("a command failed: {}", String::from_utf8_lossy(&output.stderr))
    });
}

/// A server on a slow disk, with clients that cancel orders.
struct LoadedServer {
    disk: Preload,
    fsync_delay: Duration,
    data: DataDir,
    server: ServerProcess,
    traffic: Traffic,
}

impl LoadedServer {
    fn start(fsync_delay: Duration) -> anyhow::Result<LoadedServer> {
        let (disk, data) = (Preload::disk()?, DataDir::temporary()?);
        data.import_pending(1..=i64::try_from(ORDERS)?)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        let flags = ["--log-level", "warning"];
        let server = data.start(disk.put_into(&mut data.command()), &flags)?;
        disk.set(i64::try_from(fsync_delay.as_millis())?)?;
        let bases = vec![server.base_url().to_string()];
        let clients = Clients { load: LOAD, ..Clients::new(bases, &key, ORDERS) };
        let traffic = clients.start(Journal::new(None))?;
        traffic.workload.pool.set_rests(0);
        Ok(LoadedServer { disk, fsync_delay, data, server, traffic })
    }

    fn acknowledged(&self) -> usize {
        self.traffic.workload.journal.figures().acknowledged.len()
    }

    /// Returns a command that writes to the store on the slow disk.
    fn command(&self) -> Command {
        let mut command = self.data.command();
        command.args(["keys", "issue", "--account", "clients", "--json"]);
        self.disk.put_into(&mut command);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        command
    }

    async fn stop(self, report: &mut Report) -> anyhow::Result<()> {
        let journal = self.traffic.stop().await?;
        let stopped = self.disk.set(0).and_then(|()| self.server.stop());
        let is_slow = self.fsync_delay.is_zero() || self.disk.was_used();
        report.expect(is_slow, || "no sync was delayed".to_string());
        let unavailable = journal.figures().count("503");
        report.expect_unless_stalled(unavailable == 0, || {
            format!("{unavailable} cancellations were refused")
        });
        let ended = block_in_place(|| journal.end(&self.data));
        journal.report_violations(report);
        stopped.and(ended)
    }
}
