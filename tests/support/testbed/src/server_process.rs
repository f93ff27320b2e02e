//! Runs a server as a separate process, to which tests can send signals. Reads the address that the
//! server prints.

use crate::child_process::{ChildProcess, Signal};
use anyhow::{Context, bail};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The timeout for the start of a server. Even a server with ten million orders starts much faster.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A running server. Dropping it kills the process.
#[derive(Debug)]
pub struct ServerProcess {
    process: ChildProcess,
    printed: Vec<String>,
    base_url: String,
    started_in: Duration,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts a command, and waits until it prints `listening on URL`. Standard error goes to
    /// `log`, which is emptied first.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<ServerProcess> {
        // Open the log in append mode, because a test may empty it. In another mode, the server
        // would continue to write at its old position.
        let file = OpenOptions::new().create(true).append(true).open(log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        file.set_len(0)?;
        let name = command.get_program().display().to_string();
        let started = Instant::now();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let lines = read_lines(child.stdout.take().context("standard output is piped")?);
        let mut process = ChildProcess::new(child, name.clone());
        let mut printed = Vec::new();
        loop {
            match lines.recv_timeout(START_TIMEOUT.saturating_sub(started.elapsed())) {
                Ok(line) => printed.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    bail!("{name} did not listen within {START_TIMEOUT:?}: {}", tail(log));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("{name} ended before it listened: {}: {}", process.wait()?, tail(log));
                }
            }
            if let Some(url) = printed.last().and_then(|line| line.strip_prefix("listening on ")) {
                let base_url = url.to_string();
                let (started_in, log) = (started.elapsed(), log.to_path_buf());
                return Ok(ServerProcess { process, printed, base_url, started_in, log });
            }
        }
    }

    /// Returns the lines that the server printed until it listened, including the one with the
    /// address.
    pub fn printed(&self) -> &[String] {
        &self.printed
    }

    pub fn printed_after(&self, prefix: &str) -> Option<&str> {
        self.printed.iter().find_map(|line| line.trim_start().strip_prefix(prefix))
    }

    /// Returns the base URL of the API's version 1, which ends in `/v1`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the server's URL without a path, such as `http://127.0.0.1:8080`.
    pub fn origin(&self) -> &str {
        self.base_url.trim_end_matches("/v1")
    }

    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        let (_, address) = self.origin().split_once("://").context("a URL has a scheme")?;
        address.parse().with_context(|| format!("no socket address: {address}"))
    }

    /// Returns the time that the server took to start and print its address.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    pub fn process(&self) -> &ChildProcess {
        &self.process
    }

    /// Returns the log so far. A line may appear up to 100 ms after its event.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn clear_log(&self) -> anyhow::Result<()> {
        Ok(OpenOptions::new().write(true).open(&self.log)?.set_len(0)?)
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.process.signal(signal)
    }

    pub fn wait(mut self) -> anyhow::Result<(ExitStatus, String)> {
        Ok((self.process.wait()?, self.log()))
    }

    /// Waits like [`ServerProcess::wait`], but without blocking the runtime, because a relay may
    /// run on the runtime.
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub async fn exited(self) -> (ExitStatus, String) {
        match tokio::task::spawn_blocking(move || self.wait()).await {
            Ok(Ok(exited)) => exited,
            Ok(Err(error)) => panic!("{error:#}"),
            Err(error) => panic!("{error}"),
        }
    }

    pub fn stop(self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        let (status, log) = self.wait()?;
        if !status.success() {
            bail!("the server ended with {status}: {log}");
        }
        Ok(())
    }

    pub fn kill(self) -> anyhow::Result<String> {
        self.process.kill()?;
        Ok(std::fs::read_to_string(&self.log)?)
    }
}

/// Returns the lines as they arrive. A thread keeps reading, so that the process never blocks on a
/// full pipe.
fn read_lines(stdout: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Ignore the error, because the receiver is dropped once the server has started.
            let _ = sender.send(line);
        }
    });
    receiver
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_exits_early_is_an_error_with_the_end_of_its_log() {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such key >&2; exit 3"]);
        let started = ServerProcess::start(&mut command, &directory.path().join("log"));
        let error = started.unwrap_err().to_string();
        assert!(error.contains("no such key") && error.contains('3'), "{error}");
    }
}
