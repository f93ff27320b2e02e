//! Redis servers: found, started on free ports as children, stopped by their ids.

use crate::child_process::{ChildProcess, Signal};
use crate::free_address;
use crate::unprivileged::unprivileged;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
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

/// What a primary is started with, before what a test asks for: it keeps what is written.
const SETTINGS: [(&str, &str); 6] = [
    ("bind", "127.0.0.1"),
    ("save", ""),
    ("appendonly", "yes"),
    ("appendfsync", "everysec"),
    ("maxmemory-policy", "noeviction"),
    ("repl-diskless-sync-delay", "0"),
];

/// What a Sentinel is started with. Fast, for tests: half a second makes a primary dead.
const SENTINEL_SETTINGS: &str = "\
bind 127.0.0.1
sentinel down-after-milliseconds SERVICE 500
sentinel failover-timeout SERVICE 3000
";

/// The program of Redis, or of Valkey, and who runs it.
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
        InstalledRedis::named("redis-server")?.context(
            "redis-server is missing; `cargo xtask engines --install` installs it on Debian and \
             Ubuntu",
        )
    }

    /// The Valkey on PATH, if there is one.
    pub fn find_valkey() -> anyhow::Result<Option<InstalledRedis>> {
        InstalledRedis::named("valkey-server")
    }

    fn named(name: &str) -> anyhow::Result<Option<InstalledRedis>> {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&on_path).map(|place| place.join(name));
        let Some(program) = found.find(|program| program.is_file()) else { return Ok(None) };
        let said = Command::new(&program).arg("--version").output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_string();
        Ok(Some(InstalledRedis { program, account: unprivileged(&["nobody"])?, version }))
    }

    /// Starts an empty primary that keeps what is written, with these settings too.
    pub fn start(&self, settings: &[(&str, &str)]) -> anyhow::Result<Redis> {
        self.start_in(&std::env::temp_dir(), settings)
    }

    /// The same, with its data below this directory.
    pub fn start_in(&self, parent: &Path, settings: &[(&str, &str)]) -> anyhow::Result<Redis> {
        let mut arguments = Vec::new();
        for (name, value) in SETTINGS.iter().chain(settings) {
            arguments.push(format!("--{name}"));
            // An empty value is one too.
            arguments.extend(value.split(' ').map(str::to_string));
        }
        let port = free_address()?.port();
        arguments.extend(["--port".to_string(), port.to_string()]);
        let (installed, directory) = (self.clone(), self.directory_in(parent)?);
        RedisInstance { installed, directory, port, arguments }.run()
    }

    /// Starts a Sentinel that watches this primary under this name, where so many of them
    /// decide, with these lines in its file too.
    pub fn sentinel(
        &self,
        service: &str,
        primary: u16,
        quorum: usize,
        lines: &[&str],
    ) -> anyhow::Result<Redis> {
        let (directory, port) = (self.directory()?, free_address()?.port());
        // It writes what it learns into the file.
        let file = directory.path().join("sentinel.conf");
        let settings = SENTINEL_SETTINGS.replace("SERVICE", service);
        let monitor = format!("sentinel monitor {service} 127.0.0.1 {primary} {quorum}");
        let lines = lines.join("\n");
        std::fs::write(&file, format!("port {port}\n{monitor}\n{settings}{lines}\n"))?;
        self.own(&file)?;
        let arguments = vec!["sentinel.conf".to_string(), "--sentinel".to_string()];
        RedisInstance { installed: self.clone(), directory, port, arguments }.run()
    }

    /// A directory of the account that servers run as.
    pub fn directory(&self) -> anyhow::Result<TempDir> {
        self.directory_in(&std::env::temp_dir())
    }

    fn directory_in(&self, parent: &Path) -> anyhow::Result<TempDir> {
        let directory = tempfile::Builder::new().prefix("redis-").tempdir_in(parent)?;
        self.own(directory.path())?;
        Ok(directory)
    }

    /// Gives a file to the account that servers run as.
    pub fn own(&self, path: &Path) -> anyhow::Result<()> {
        let Some((user, group)) = self.account else { return Ok(()) };
        Ok(chown(path, Some(user), Some(group))?)
    }
}

/// Where a server keeps its data, and how it is started.
struct RedisInstance {
    installed: InstalledRedis,
    directory: TempDir,
    port: u16,
    arguments: Vec<String>,
}

impl RedisInstance {
    fn run(self) -> anyhow::Result<Redis> {
        Ok(Redis { process: self.start()?, place: self })
    }

    fn start(&self) -> anyhow::Result<ChildProcess> {
        let mut command = Command::new(&self.installed.program);
        if let Some((user, group)) = self.installed.account {
            command.uid(user).gid(group);
        }
        let log = std::fs::File::create(self.directory.path().join("log"))?;
        command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        command.env_clear().current_dir(self.directory.path()).args(&self.arguments);
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
    place: RedisInstance,
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

    /// Where it keeps its data.
    pub fn path(&self) -> &Path {
        self.place.directory.path()
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
pub struct KilledRedis(RedisInstance);

impl KilledRedis {
    /// Starts a server on it, at the same port.
    pub fn restart(self) -> anyhow::Result<Redis> {
        self.0.run()
    }
}
