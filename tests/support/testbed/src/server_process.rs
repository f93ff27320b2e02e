//! A server in a process of its own: started, asked where it listens, ended by its
//! process id.

use crate::child_process::{ChildProcess, Signal};
use anyhow::{Context, bail};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A server that lists ten million orders listens well within this.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A server that listens. It is killed when it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    process: ChildProcess,
    printed: Vec<String>,
    base_url: String,
    started_in: Duration,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts a command that prints `listening on URL` once it answers, and waits
    /// for that line. Standard error goes to `log`, emptied first.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<ServerProcess> {
        // Appended to, so that it may be emptied while the server runs.
        let file = OpenOptions::new().create(true).append(true).open(log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        file.set_len(0)?;
        let name = command.get_program().display().to_string();
        let started = Instant::now();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let lines = lines_of(child.stdout.take().context("standard output is piped")?);
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

    /// The lines it printed, up to the one with its address.
    pub fn printed(&self) -> &[String] {
        &self.printed
    }

    /// What it printed behind this prefix.
    pub fn printed_after(&self, prefix: &str) -> Option<&str> {
        self.printed.iter().find_map(|line| line.trim_start().strip_prefix(prefix))
    }

    /// The base address of the API, with `/v1`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of the API without a path.
    pub fn origin(&self) -> &str {
        self.base_url.trim_end_matches("/v1")
    }

    /// The address of the API as that of a socket.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        let (_, address) = self.origin().split_once("://").context("a URL has a scheme")?;
        address.parse().with_context(|| format!("no socket address: {address}"))
    }

    /// From the start to the line with its address.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// The process.
    pub fn process(&self) -> &ChildProcess {
        &self.process
    }

    /// What it has written of its log so far: it writes a line up to 100 ms after its event.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Empties the log.
    pub fn clear_log(&self) -> anyhow::Result<()> {
        Ok(OpenOptions::new().write(true).open(&self.log)?.set_len(0)?)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.process.signal(signal)
    }

    /// Waits until it exits; its status and its log.
    pub fn wait(mut self) -> anyhow::Result<(ExitStatus, String)> {
        Ok((self.process.wait()?, self.log()))
    }

    /// [`ServerProcess::wait`] without blocking the runtime, which may carry a tap.
    #[expect(clippy::panic, reason = "a test that cannot go on says so by panicking")]
    pub async fn exited(self) -> (ExitStatus, String) {
        match tokio::task::spawn_blocking(move || self.wait()).await {
            Ok(Ok(exited)) => exited,
            Ok(Err(error)) => panic!("{error:#}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// SIGTERM; waits for a clean exit.
    pub fn stop(self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        let (status, log) = self.wait()?;
        if !status.success() {
            bail!("the server ended with {status}: {log}");
        }
        Ok(())
    }

    /// SIGKILL; what it had logged.
    pub fn kill(self) -> anyhow::Result<String> {
        self.process.kill()?;
        Ok(std::fs::read_to_string(&self.log)?)
    }
}

/// The lines as they come; the thread reads on, so that the process never blocks.
fn lines_of(stdout: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The receiver is dropped after the start.
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
    fn a_server_that_ends_early_is_an_error_with_its_last_words() {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such key >&2; exit 3"]);
        let started = ServerProcess::start(&mut command, &directory.path().join("log"));
        let error = started.unwrap_err().to_string();
        assert!(error.contains("no such key") && error.contains('3'), "{error}");
    }
}
