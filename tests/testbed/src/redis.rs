//! Redis servers: found, started on free ports as children, stopped by their ids.

use crate::child_process::{ChildProcess, Signal};
use crate::unprivileged::unprivileged;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take to answer after its start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long one answer to PING may take.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// The program of Redis, and who runs it.
#[derive(Clone, Debug)]
pub struct InstalledRedis {
    program: PathBuf,
    account: Option<(u32, u32)>,
    /// As `redis-server --version` says.
    pub version: String,
}

impl InstalledRedis {
    /// The Redis on PATH.
    pub fn find() -> anyhow::Result<InstalledRedis> {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&on_path).map(|place| place.join("redis-server"));
        let program = found.find(|program| program.is_file()).context(
            "redis-server is missing; `cargo xtask engines --install` installs it on Debian and \
             Ubuntu",
        )?;
        let said = Command::new(&program).arg("--version").output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_string();
        Ok(InstalledRedis { program, account: unprivileged(&["nobody"])?, version })
    }

    /// Starts an empty primary that keeps what is written, with these settings too.
    pub fn start(&self, settings: &[(&str, &str)]) -> anyhow::Result<Redis> {
        self.start_in(&std::env::temp_dir(), settings)
    }

    /// The same, with its data below this directory.
    pub fn start_in(&self, parent: &Path, settings: &[(&str, &str)]) -> anyhow::Result<Redis> {
        let directory = tempfile::Builder::new().prefix("redis-").tempdir_in(parent)?;
        if let Some((user, group)) = self.account {
            chown(directory.path(), Some(user), Some(group))?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let settings =
            settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let place = Place { installed: self.clone(), directory, port, settings };
        Ok(Redis { process: place.start()?, place })
    }
}

/// Where a server keeps its data, and how it is started.
struct Place {
    installed: InstalledRedis,
    directory: TempDir,
    port: u16,
    settings: Vec<(String, String)>,
}

impl Place {
    fn start(&self) -> anyhow::Result<ChildProcess> {
        let mut command = Command::new(&self.installed.program);
        if let Some((user, group)) = self.installed.account {
            command.uid(user).gid(group);
        }
        let log = std::fs::File::create(self.directory.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        command.env_clear().current_dir(self.directory.path());
        for (name, value) in [
            ("port", self.port.to_string().as_str()),
            ("bind", "127.0.0.1"),
            ("save", ""),
            ("appendonly", "yes"),
            ("appendfsync", "everysec"),
            ("maxmemory-policy", "noeviction"),
            ("repl-diskless-sync-delay", "0"),
        ] {
            command.arg(format!("--{name}")).arg(value);
        }
        for (name, value) in &self.settings {
            command.arg(format!("--{name}")).args(value.split(' '));
        }
        let child = command.spawn().context("redis-server cannot be started")?;
        let process = ChildProcess::new(child, "redis-server");
        let began = Instant::now();
        while !self.answers() {
            if began.elapsed() > START_TIMEOUT {
                let log = std::fs::read_to_string(self.directory.path().join("log"));
                bail!("redis-server does not answer: {}", log.unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(process)
    }

    /// Whether it has loaded what it has; it may ask for a password.
    fn answers(&self) -> bool {
        let ping = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(PING_TIMEOUT))?;
            stream.write_all(b"PING\r\n")?;
            let mut answer = [0; 5];
            stream.read_exact(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        ping().is_ok_and(|answer| [*b"+PONG", *b"-NOAU"].contains(&answer))
    }
}

/// A server. It is killed when it is dropped.
pub struct Redis {
    process: ChildProcess,
    place: Place,
}

impl Redis {
    /// Where it listens on the loopback.
    pub fn port(&self) -> u16 {
        self.place.port
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.place.port)
    }

    /// Stops (SIGSTOP) or continues (SIGCONT) it.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.process.signal(signal)
    }

    /// Leaves the data and the log where they are when this is dropped.
    pub fn keep(&mut self) {
        self.place.directory.disable_cleanup(true);
    }

    /// SIGKILL.
    pub fn kill(self) -> anyhow::Result<KilledRedis> {
        self.process.kill()?;
        Ok(KilledRedis(self.place))
    }
}

/// What a killed server left.
pub struct KilledRedis(Place);

impl KilledRedis {
    /// Starts a server on it, at the same port.
    pub fn restart(self) -> anyhow::Result<Redis> {
        Ok(Redis { process: self.0.start()?, place: self.0 })
    }
}
