//! Operators' commands beside a full load of cancellations, on disks of several speeds:
//! none starves, and none starves the cancellations.

use crate::clients::{Cancelling, Seen};
use crate::slow_disk::SlowDisk;
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

/// Eight commands in a loop leave cancellations at least a quarter of their rate.
async fn many_commands(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let loaded = LoadedServer::start(program, Duration::from_millis(20))?;
    let span = Duration::from_secs(3);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let rate = async |load: &Cancelling| {
        let (before, began) = (load.done(), Instant::now());
        tokio::time::sleep(span).await;
        (load.done() - before) as f64 / began.elapsed().as_secs_f64()
    };
    let alone = rate(&loaded.load).await;
    let until = Instant::now() + 2 * span + Duration::from_millis(500);
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
    // The better of two: the machine may have other work to do.
    let beside = rate(&loaded.load).await.max(rate(&loaded.load).await);
    let (mut done, mut failed) = (0, 0);
    for operator in operators {
        let (own, own_failed) = operator.await??;
        (done, failed) = (done + own, failed + own_failed);
    }
    loaded.stop().await?;
    report.figure(format!(
        "cancels alone {alone:.0}/s, beside 8 commands in a loop {beside:.0}/s; {done} commands, \
         {failed} failed"
    ));
    report.expect(beside >= alone / 4.0, || {
        format!("8 commands in a loop left cancels {:.0} % of their rate", 100.0 * beside / alone)
    });
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
