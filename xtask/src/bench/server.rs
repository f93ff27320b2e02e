//! Processes that are measured: the release server and what it is compared
//! with. Each is started on its core, asked where it listens, and ended by its
//! id, whatever happens here.

use super::machine::Side;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A list of ten million orders is read well within this.
const STARTS_WITHIN: Duration = Duration::from_secs(120);
/// The server's own limit for requests under way is 20 s.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// A process that was started here. It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// How errors name it.
    name: &'static str,
}

impl Process {
    /// Takes charge of a child.
    pub fn of(child: Child, name: &'static str) -> Process {
        Process { child, name }
    }

    /// Its id.
    pub fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub fn stop(mut self) -> anyhow::Result<()> {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::TERM)?;
        }
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > STOPS_WITHIN {
                bail!("{} did not stop within {STOPS_WITHIN:?}", self.name);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended; there is nothing more to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that answers.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
    /// From its start to the line that says so.
    pub started_in: Duration,
    log: Option<PathBuf>,
}

impl Running {
    /// Starts a command that prints `listening on http://ADDR…` once it answers.
    /// Its log goes to `log`.
    pub fn start(
        command: &mut Command,
        name: &'static str,
        log: Option<&Path>,
    ) -> anyhow::Result<Running> {
        let stderr = match log {
            Some(path) => Stdio::from(appending(path)?),
            None => Stdio::inherit(),
        };
        command.stdout(Stdio::piped()).stderr(stderr);
        let begun = Instant::now();
        let mut child =
            Side::Served.start(command).with_context(|| format!("cannot start {name}"))?;
        let stdout = child.stdout.take();
        let process = Process::of(child, name);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines) {
                // Whoever waited has what it waited for.
                let _ = line.map(|line| sender.send(line));
            }
        });
        loop {
            let line = receiver.recv_timeout(STARTS_WITHIN).with_context(|| {
                let log = log.map(tail).unwrap_or_default();
                format!("{name} ended, or did not listen within {STARTS_WITHIN:?}; {log}")
            })?;
            if let Some(address) = listening(&line) {
                let started_in = begun.elapsed();
                let log = log.map(Path::to_path_buf);
                return Ok(Running { process, address, started_in, log });
            }
        }
    }

    /// One that was found to answer at this address and keeps no log.
    pub fn at(process: Process, address: SocketAddr) -> Running {
        Running { process, address, started_in: Duration::ZERO, log: None }
    }

    /// Empties the log, so that rounds do not fill the disk with it.
    pub fn empty_log(&self) -> anyhow::Result<()> {
        if let Some(log) = &self.log {
            OpenOptions::new().write(true).open(log)?.set_len(0)?;
        }
        Ok(())
    }
}

impl Running {
    /// The last lines of the log that are no mere information, for an error to
    /// name.
    pub fn complaints(&self) -> String {
        let path = self.log.as_deref();
        let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let complaints = text.lines().filter(|line| !line.contains(r#""level":"INFO""#));
        let mut last: Vec<&str> = complaints.rev().take(3).collect();
        last.reverse();
        if last.is_empty() { String::new() } else { format!("; its log: {}", last.join(" / ")) }
    }
}

/// A file that every write goes to the end of, so that it may be emptied.
fn appending(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    format!("its last lines: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / "))
}

fn listening(line: &str) -> Option<SocketAddr> {
    let rest = line.strip_prefix("listening on http://")?;
    rest.split('/').next()?.parse().ok()
}

/// The release server's program and what is asked of it.
#[derive(Clone, Debug)]
pub struct Program {
    /// `target/release/store-orders`.
    pub path: PathBuf,
}

impl Program {
    /// Runs one of its commands to its end and returns what it printed.
    pub fn run(&self, data_dir: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.path)
            .args(arguments)
            .arg("--data-dir")
            .arg(data_dir)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`store-orders {}`: {}: {said}", arguments.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Serves a data directory. `preload` is a library that stands before the
    /// system's.
    pub fn serve(
        &self,
        data_dir: &Path,
        extra: &[&str],
        preload: Option<&Path>,
    ) -> anyhow::Result<Running> {
        let mut command = Command::new(&self.path);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
        command.args(["--keyless-per-minute", "4294967295"]);
        command.args(extra).arg("--data-dir").arg(data_dir).stdin(Stdio::null());
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        Running::start(&mut command, "the server", Some(&data_dir.join("log")))
    }

    /// Whether `serve` takes this option.
    pub fn serve_takes(&self, option: &str) -> bool {
        let help = Command::new(&self.path).args(["serve", "--help"]).output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(option))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_where_it_listens_is_found() {
        let address = "127.0.0.1:8080".parse().unwrap();
        assert_eq!(listening("listening on http://127.0.0.1:8080/v1"), Some(address));
        assert_eq!(listening("listening on http://127.0.0.1:8080"), Some(address));
        assert_eq!(listening("key: listening"), None);
    }

    #[test]
    fn a_process_that_ends_early_is_an_error_with_its_last_words() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such key >&2"]);
        let error = Running::start(&mut command, "the test", Some(&log)).unwrap_err();
        assert!(format!("{error:#}").contains("no such key"), "{error:#}");
    }
}
