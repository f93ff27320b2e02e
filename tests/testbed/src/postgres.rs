//! PostgreSQL servers: found, started on free ports as children, stopped by their ids.

use crate::child_process::ChildProcess;
use crate::relay::Relay;
use crate::unprivileged::unprivileged;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The oldest PostgreSQL that is tried.
const OLDEST: u32 = 15;

/// How long a server may take to answer after its start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The superuser of every server, and who the store belongs to.
pub const USER: &str = "store";

/// The database of the store.
pub const DATABASE: &str = "orders";

/// The programs of PostgreSQL, and who runs them: they refuse root.
#[derive(Clone, Debug)]
pub struct Installed {
    bin: PathBuf,
    /// The user and group that the servers run as, where this program is root.
    account: Option<(u32, u32)>,
    /// As `postgres --version` says.
    pub version: String,
}

impl Installed {
    /// The newest PostgreSQL here.
    pub fn find() -> anyhow::Result<Installed> {
        const FIX: &str = "`cargo xtask engines --install` installs it on Debian and Ubuntu";
        let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
            .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
            .unwrap_or_default();
        found.sort_by_key(|bin| major_in(&bin.to_string_lossy()));
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let has_all = |bin: &PathBuf| {
            ["postgres", "initdb"].iter().all(|program| bin.join(program).is_file())
        };
        let bin = std::env::split_paths(&on_path).chain(found).filter(has_all).last();
        let bin = bin.with_context(|| format!("PostgreSQL is missing; {FIX}"))?;
        let said = Command::new(bin.join("postgres")).arg("--version").output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_string();
        if major_in(&version) < OLDEST {
            bail!("{version} is too old: {OLDEST} or later is needed; {FIX}");
        }
        let account = unprivileged(&["postgres", "nobody"])?;
        Ok(Installed { bin, account, version })
    }

    /// Makes a private file readable by the servers alone.
    pub fn own(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::set_permissions(file, Permissions::from_mode(0o600))?;
        if let Some((user, group)) = self.account {
            chown(file, Some(user), Some(group))?;
        }
        Ok(())
    }

    /// A client program, run as whoever runs this one.
    pub fn client(&self, program: &str) -> Command {
        Command::new(self.bin.join(program))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command.stdin(Stdio::null()).env_clear().env("PATH", "/usr/bin:/bin");
        command
    }

    fn run(&self, program: &str, arguments: &[&str], directory: &Path) -> anyhow::Result<()> {
        let output = self.command(program).args(arguments).current_dir(directory).output()?;
        if !output.status.success() {
            bail!("{program}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

/// The first whole number in a text.
fn major_in(text: &str) -> u32 {
    let digits = text.chars().skip_while(|c| !c.is_ascii_digit());
    digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// A data directory that servers are copied from, and where they live.
pub struct Cluster {
    installed: Installed,
    directory: TempDir,
}

impl Cluster {
    /// A new, empty one.
    pub fn create(installed: &Installed) -> anyhow::Result<Cluster> {
        Cluster::create_in(installed, &std::env::temp_dir())
    }

    /// The same below this directory.
    pub fn create_in(installed: &Installed, parent: &Path) -> anyhow::Result<Cluster> {
        let directory = tempfile::Builder::new().prefix("engines-").tempdir_in(parent)?;
        if let Some((user, group)) = installed.account {
            chown(directory.path(), Some(user), Some(group))?;
        }
        let cluster = Cluster { installed: installed.clone(), directory };
        let arguments = [
            "-D",
            "template",
            "-U",
            USER,
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-instructions",
        ];
        installed.run("initdb", &arguments, cluster.path())?;
        Ok(cluster)
    }

    /// Where its servers live.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves the data and the logs where they are when this is dropped.
    pub fn keep(&mut self) {
        self.directory.disable_cleanup(true);
    }

    /// Replaces this data directory, whose server does not run, by a copy of a running
    /// primary's that follows it when it is started.
    pub fn rebuild(&self, name: &str, primary: &Postgres) -> anyhow::Result<()> {
        let directory = self.path().join(name);
        std::fs::remove_dir_all(&directory)?;
        let port = primary.port.to_string();
        let arguments =
            ["-D", name, "-h", "127.0.0.1", "-p", &port, "-U", USER, "-c", "fast", "-X", "stream"];
        self.installed.run(
            "pg_basebackup",
            &[&arguments[..], &["--no-sync"]].concat(),
            self.path(),
        )?;
        std::fs::write(directory.join("standby.signal"), "")?;
        // What the primary was told while it ran is not for the standby once it is promoted.
        Ok(std::fs::write(directory.join("postgresql.auto.conf"), "")?)
    }

    /// What a standby is started with to follow a primary behind this port.
    pub fn upstream(port: u16) -> String {
        format!("host=127.0.0.1 port={port} user={USER} application_name=standby")
    }

    /// Starts a new primary of this name, with the store's database.
    pub async fn primary(&self, name: &str, settings: &[(&str, &str)]) -> anyhow::Result<Postgres> {
        self.copy("template", name)?;
        let server = self.start(name, settings).await?;
        server
            .admin("postgres")
            .await?
            .batch_execute(&format!("CREATE DATABASE {DATABASE}"))
            .await?;
        Ok(server)
    }

    /// Starts a new primary and its synchronous standby.
    pub async fn pair(&self) -> anyhow::Result<Pair> {
        self.copy("template", "primary")?;
        // A copy of a cluster that was never started is a valid standby.
        self.copy("template", "standby")?;
        let primary = self.start("primary", &[]).await?;
        std::fs::write(self.path().join("standby/standby.signal"), "")?;
        let link = Relay::to(primary.port).await?;
        let upstream = Cluster::upstream(link.port);
        let standby = self.start("standby", &[("primary_conninfo", &upstream)]).await?;
        let admin = primary.admin("postgres").await?;
        // Not on its command line, which nothing could change later.
        primary.set("synchronous_standby_names", "standby").await?;
        primary.wait_for_standby().await?;
        admin.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await?;
        Ok(Pair { primary, standby, link })
    }

    fn copy(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let mut copy = Command::new("cp");
        if let Some((user, group)) = self.installed.account {
            copy.uid(user).gid(group);
        }
        let status = copy.args(["-a", from, to]).current_dir(self.path()).status()?;
        if !status.success() {
            bail!("{from} cannot be copied to {to}");
        }
        Ok(())
    }

    /// Starts the server of this data directory on a free port.
    pub async fn start(&self, name: &str, settings: &[(&str, &str)]) -> anyhow::Result<Postgres> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        self.start_at(name, port, settings).await
    }

    /// The same on this port.
    pub async fn start_at(
        &self,
        name: &str,
        port: u16,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Postgres> {
        let mut command = self.installed.command("postgres");
        let log = self.path().join(format!("{name}.log"));
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
        command.current_dir(self.path()).stdout(Stdio::null()).stderr(file);
        command.args(["-D", name, "-p", &port.to_string()]);
        command.arg("-k").arg(self.path());
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "jit=off"]);
        for (setting, value) in settings {
            command.args(["-c", &format!("{setting}={value}")]);
        }
        let child = command.spawn().context("postgres cannot be started")?;
        let process = ChildProcess::new(child, format!("postgres {name}"));
        let server = Postgres { process, port, name: name.to_string(), log };
        server.wait_until_it_answers().await?;
        Ok(server)
    }
}

/// A primary and its standby.
pub struct Pair {
    /// It waits for the standby at each commit.
    pub primary: Postgres,
    /// It follows the primary.
    pub standby: Postgres,
    /// The network between the two.
    pub link: Relay,
}

/// A server. It and its children are killed when it is dropped.
pub struct Postgres {
    process: ChildProcess,
    /// Where it listens on the loopback.
    pub port: u16,
    name: String,
    log: PathBuf,
}

impl Postgres {
    /// The store on it, reached at this port: its own, or a relay's.
    pub fn url_at(port: u16) -> String {
        format!("postgres://{USER}@127.0.0.1:{port}/{DATABASE}")
    }

    /// The store on it.
    pub fn url(&self) -> String {
        Postgres::url_at(self.port)
    }

    /// A connection of the superuser.
    pub async fn admin(&self, database: &str) -> anyhow::Result<Client> {
        let address = format!("host=127.0.0.1 port={} user={USER} dbname={database}", self.port);
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
        // It ends with the client.
        tokio::spawn(connection);
        Ok(client)
    }

    async fn wait_until_it_answers(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.admin("postgres").await.is_err() {
            if began.elapsed() > START_TIMEOUT {
                bail!("{} does not answer: {}", self.name, self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Changes a setting of the running server.
    pub async fn set(&self, setting: &str, value: &str) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        admin.batch_execute(&format!("ALTER SYSTEM SET {setting} = '{value}'")).await?;
        Ok(admin.batch_execute("SELECT pg_reload_conf()").await?)
    }

    /// Waits until the standby confirms commits.
    pub async fn wait_for_standby(&self) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        let query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        let began = Instant::now();
        while admin.query_one(query, &[]).await?.try_get::<_, i64>(0)? == 0 {
            if began.elapsed() > START_TIMEOUT {
                bail!("no standby streams: {}", self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Makes a standby the primary, which waits for a standby of its own no longer.
    pub async fn promote(&self) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        if !admin.query_one("SELECT pg_promote(true, 20)", &[]).await?.try_get::<_, bool>(0)? {
            bail!("{} was not promoted: {}", self.name, self.last_words());
        }
        Ok(())
    }

    /// Stops (SIGSTOP) or continues (SIGCONT) the server and its children.
    pub fn signal_all(&self, signal: Signal) -> anyhow::Result<()> {
        let own = self.process.pid()?;
        kill_process(own, signal)?;
        for child in children_of(own)? {
            // It may have ended by now.
            let _ = kill_process(child, signal);
        }
        Ok(())
    }

    /// SIGKILL, for it and its children; so another can take its port at once.
    pub fn kill(self) -> anyhow::Result<()> {
        let children = children_of(self.process.pid()?)?;
        self.process.kill()?;
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        Ok(())
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut words = String::new();
        for line in log.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev() {
            // Writing to a String cannot fail.
            let _ = write!(words, "{line} / ");
        }
        words
    }
}

/// The processes that this one started.
fn children_of(parent: Pid) -> anyhow::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name, in brackets, may hold spaces.
        let of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        if of == Some(&parent.as_raw_nonzero().to_string()) {
            children.extend(Pid::from_raw(pid));
        }
    }
    Ok(children)
}
