//! Operators' commands beside a full load of cancellations, on disks of several speeds:
//! none starves, and none starves the cancellations.

use super::clients::{Cancelling, Seen};
use super::slow_disk::SlowDisk;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::{DataDir, Program, Report, ServerProcess};

const CLIENTS: usize = 16;
const ORDERS: i64 = 400_000;

/// How many commands run at each speed.
const COMMANDS: usize = 5;

/// Runs commands beside cancellations with fsync this much slower.
pub async fn run(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    for (slower_ms, bound) in [(0, 1), (5, 1), (20, 1), (100, 4), (500, 4)] {
        let (slower, bound) = (Duration::from_millis(slower_ms), Duration::from_secs(bound));
        beside_cancels(program, slower, bound, report).await?;
    }
    many_commands(program, report).await
}

async fn beside_cancels(
    program: &Program,
    slower: Duration,
    bound: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    let loaded = LoadedServer::start(program, slower)?;
    let mut slowest = Duration::ZERO;
    for number in 0..COMMANDS {
        let mut command = loaded.command();
        let began = Instant::now();
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        slowest = slowest.max(began.elapsed());
        report.expect(output.status.success(), || {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("command {number} with fsync {slower:?} slower failed: {error}")
        });
        tokio::time::sleep(Duration::from_millis(fastrand::u64(20..200))).await;
    }
    let answers = loaded.stop().await?;
    let what = format!("the slowest of {COMMANDS} commands, fsync {slower:?} slower");
    report.time(what, slowest, bound);
    let good = answers.iter().filter(|seen| seen.status.is_some_and(|s| s == 204)).count();
    report.figure(format!("cancels meanwhile: {good} of {} answered with 204", answers.len()));
    for seen in answers.iter().filter(|seen| seen.status.is_none_or(|status| status != 204)) {
        report.expect(false, || format!("order {}: {:?}", seen.order, seen.status));
    }
    Ok(())
}

/// Eight commands in a loop and the cancellations take turns: between two commands a batch is
/// written, which each client has a cancellation in.
async fn many_commands(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let loaded = LoadedServer::start(program, Duration::from_millis(20))?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (before, until) = (loaded.load.done(), Instant::now() + Duration::from_secs(6));
    let operators: Vec<_> = (0..8)
        .map(|_| {
            let mut command = loaded.command();
            tokio::task::spawn_blocking(move || {
                let mut failed = 0;
                let mut done = 0;
                while Instant::now() < until {
                    let ended = command.output()?;
                    failed += usize::from(!ended.status.success());
                    done += 1;
                }
                anyhow::Ok((done, failed))
            })
        })
        .collect();
    let (mut done, mut failed) = (0, 0);
    for operator in operators {
        let (own, own_failed) = operator.await??;
        (done, failed) = (done + own, failed + own_failed);
    }
    let cancels = loaded.load.done() - before;
    loaded.stop().await?;
    report.figure(format!("{cancels} cancels beside {done} commands in a loop"));
    report.expect(cancels >= done, || "cancels starve beside commands in a loop".to_string());
    report.expect(failed == 0, || format!("{failed} of {done} commands in a loop failed"));
    Ok(())
}

/// A server on a slow disk, with clients that cancel.
struct LoadedServer {
    disk: SlowDisk,
    data: DataDir,
    server: ServerProcess,
    load: Cancelling,
    _directory: TempDir,
}

impl LoadedServer {
    fn start(program: &Program, slower: Duration) -> anyhow::Result<LoadedServer> {
        let (directory, disk) = (tempfile::tempdir()?, SlowDisk::new()?);
        let data = DataDir::at(program, &directory.path().join("data"));
        data.import_pending(1..=ORDERS)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        data.run(&["accounts", "create", "acme", "--plan", "pro"])?;
        let server =
            data.start(disk.put_under(&mut data.command()), &["--log-level", "warning"])?;
        disk.delay(slower)?;
        let next = Arc::new(AtomicI64::new(1));
        let load = Cancelling::start(CLIENTS, server.base_url(), &key, &next, ORDERS);
        Ok(LoadedServer { disk, data, server, load, _directory: directory })
    }

    /// A command that writes, on the same disk.
    fn command(&self) -> Command {
        let mut command = self.data.command();
        command.args(["keys", "issue", "--account", "acme", "--json"]);
        self.disk.put_under(&mut command);
        command
    }

    /// Ends the load, then the server; what the clients saw.
    async fn stop(self) -> anyhow::Result<Vec<Seen>> {
        let answers = self.load.stop().await?;
        self.disk.delay(Duration::ZERO)?;
        self.server.stop()?;
        Ok(answers)
    }
}
