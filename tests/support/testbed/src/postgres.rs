//! PostgreSQL servers: found, started on free ports as children, stopped by their ids.

mod cluster;

pub use cluster::{Cluster, Pair};

use crate::child_process::ChildProcess;
use crate::wait::{WAIT_TIMEOUT, wait_for};
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tokio_postgres::{Client, NoTls};

/// The oldest PostgreSQL that is tried.
const OLDEST: u32 = 15;

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
        const FIX: &str = "on Debian and Ubuntu: apt-get install postgresql";
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
        Ok(Installed { bin, account: unprivileged()?, version })
    }

    /// Makes a private file readable by the servers alone.
    pub fn own(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::set_permissions(file, Permissions::from_mode(0o600))?;
        if let Some((user, group)) = self.account {
            chown(file, Some(user), Some(group))?;
        }
        Ok(())
    }

    /// A client program, run as the user of this one.
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

/// The user and group of an account for the servers; `None` if this program is not root, so that
/// they run as the current user.
fn unprivileged() -> anyhow::Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd")?;
    let ids = |name| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let found = ids("postgres").or_else(|| ids("nobody"));
    found.map(Some).context("there is no unprivileged account to run a database server")
}

/// The first whole number in a text.
fn major_in(text: &str) -> u32 {
    let digits = text.chars().skip_while(|c| !c.is_ascii_digit());
    digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
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
        let what = format!("{} answers", self.name);
        let answers = async || self.admin("postgres").await.ok().map(drop);
        wait_for(&what, WAIT_TIMEOUT, answers).await.with_context(|| self.last_words())
    }

    /// Changes a setting of the running server.
    pub async fn set(&self, setting: &str, value: &str) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        admin.batch_execute(&format!("ALTER SYSTEM SET {setting} = '{value}'")).await?;
        Ok(admin.batch_execute("SELECT pg_reload_conf()").await?)
    }

    /// Waits until the standby confirms commits.
    pub async fn wait_for_standby(&self) -> anyhow::Result<()> {
        self.wait_for_stream("sync_state = 'sync'").await
    }

    /// Has commits wait for the standby, once it streams: until then none could be confirmed.
    pub async fn demand_standby(&self) -> anyhow::Result<()> {
        self.wait_for_stream("state = 'streaming'").await?;
        self.set("synchronous_standby_names", "standby").await?;
        self.wait_for_standby().await
    }

    async fn wait_for_stream(&self, condition: &str) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        let query = format!("SELECT count(*) FROM pg_stat_replication WHERE {condition}");
        let streams = async || match admin.query_one(&query, &[]).await {
            Ok(row) => (row.get::<_, i64>(0) > 0).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        let waited = wait_for("a standby streams", WAIT_TIMEOUT, streams).await;
        Ok(waited.with_context(|| self.last_words())??)
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

    /// Shuts it down cleanly, and waits until it has ended.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::INT)?;
        self.process.wait().map(drop)
    }

    /// SIGKILL, for it and its children; so another can take its port at once.
    pub fn kill(self) -> anyhow::Result<()> {
        self.kill_all()
    }

    fn kill_all(&self) -> anyhow::Result<()> {
        let own = self.process.pid()?;
        // Read before it ends: its children have another parent then.
        let children = children_of(own)?;
        kill_process(own, Signal::KILL)?;
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        Ok(())
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut words = String::new();
        for line in log.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev() {
            // Writing to a String cannot fail.
            let _ = write!(words, "{line} / ");
        }
        words
    }
}

impl Drop for Postgres {
    /// Children that are suspended would not notice that it ends.
    fn drop(&mut self) {
        // It has ended if this fails.
        let _ = self.kill_all();
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
