//! Finds PostgreSQL, starts servers on free ports as child processes and stops them by process id.

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

const OLDEST_MAJOR: u32 = 15;

/// The superuser of every server, who also owns the store.
pub const USER: &str = "store";

pub const DATABASE: &str = "orders";

/// The installed programs of PostgreSQL. PostgreSQL refuses to run as root. So if the tests run as
/// root, they start PostgreSQL as another user.
#[derive(Clone, Debug)]
pub struct Installed {
    bin: PathBuf,
    /// The user and the group of the servers' processes. `None` means the current user, who is not
    /// root.
    account: Option<(u32, u32)>,
    /// The output of `postgres --version`.
    pub version: String,
}

impl Installed {
    /// Finds the newest PostgreSQL among Debian's packages. If there is none, finds the last
    /// PostgreSQL in `PATH`. Fails if the found version is older than 15.
    pub fn find() -> anyhow::Result<Installed> {
        const FIX: &str = "on Debian and Ubuntu: apt-get install postgresql";
        let mut packaged: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
            .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
            .unwrap_or_default();
        packaged.sort_by_key(|bin| parse_major(&bin.to_string_lossy()));
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let has_all = |bin: &PathBuf| {
            ["postgres", "initdb"].iter().all(|program| bin.join(program).is_file())
        };
        let bin = std::env::split_paths(&on_path).chain(packaged).filter(has_all).last();
        let bin = bin.with_context(|| format!("PostgreSQL is missing; {FIX}"))?;
        let output = Command::new(bin.join("postgres")).arg("--version").output()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        if parse_major(&version) < OLDEST_MAJOR {
            bail!("{version} is too old: {OLDEST_MAJOR} or later is needed; {FIX}");
        }
        Ok(Installed { bin, account: unprivileged()?, version })
    }

    /// Makes a file readable only by the account that runs the servers.
    pub fn make_private(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::set_permissions(file, Permissions::from_mode(0o600))?;
        if let Some((user, group)) = self.account {
            chown(file, Some(user), Some(group))?;
        }
        Ok(())
    }

    /// Prepares a client program of PostgreSQL. The program runs as the current user, unlike the
    /// database servers, which may run as another user.
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

/// Returns the user and the group that PostgreSQL servers run as. `None` means the current user,
/// who is not root.
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
    let account = ids("postgres").or_else(|| ids("nobody"));
    account.map(Some).context("there is no unprivileged account to run a database server")
}

fn parse_major(text: &str) -> u32 {
    let digits = text.chars().skip_while(|c| !c.is_ascii_digit());
    digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// A running PostgreSQL server. Dropping it kills the server and its child processes.
pub struct Postgres {
    process: ChildProcess,
    /// The TCP port on the loopback interface.
    pub port: u16,
    name: String,
    log: PathBuf,
}

impl Postgres {
    /// Returns the store's URL at this port. The port may also belong to a relay.
    pub fn url_at(port: u16) -> String {
        format!("postgres://{USER}@127.0.0.1:{port}/{DATABASE}")
    }

    pub fn url(&self) -> String {
        Postgres::url_at(self.port)
    }

    /// Connects as the superuser.
    pub async fn admin(&self, database: &str) -> anyhow::Result<Client> {
        let address = format!("host=127.0.0.1 port={} user={USER} dbname={database}", self.port);
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
        // The task ends when the client is dropped.
        tokio::spawn(connection);
        Ok(client)
    }

    async fn wait_until_it_answers(&self) -> anyhow::Result<()> {
        let what = format!("{} answers", self.name);
        let answers = async || self.admin("postgres").await.ok().map(drop);
        wait_for(&what, WAIT_TIMEOUT, answers).await.with_context(|| self.last_words())
    }

    pub async fn set(&self, setting: &str, value: &str) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        admin.batch_execute(&format!("ALTER SYSTEM SET {setting} = '{value}'")).await?;
        Ok(admin.batch_execute("SELECT pg_reload_conf()").await?)
    }

    /// Waits until the standby is synchronous. From then on, commits wait until the standby
    /// confirms them.
    pub async fn wait_for_standby(&self) -> anyhow::Result<()> {
        self.wait_for_stream("sync_state = 'sync'").await
    }

    /// Makes commits wait for the standby. First waits until the standby streams, because only a
    /// streaming standby can confirm commits.
    pub async fn demand_standby(&self) -> anyhow::Result<()> {
        self.wait_for_stream("state = 'streaming'").await?;
        self.set("synchronous_standby_names", "standby").await?;
        self.wait_for_standby().await
    }

    /// Waits until a row of `pg_stat_replication` satisfies this SQL condition.
    pub async fn wait_for_stream(&self, condition: &str) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        let query = format!("SELECT count(*) FROM pg_stat_replication WHERE {condition}");
        let streams = async || match admin.query_one(&query, &[]).await {
            Ok(row) => (row.get::<_, i64>(0) > 0).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        let waited = wait_for("a standby streams", WAIT_TIMEOUT, streams).await;
        Ok(waited.with_context(|| self.last_words())??)
    }

    /// Promotes this standby to primary, and waits for the promotion. Commits wait for another
    /// standby only after [`Postgres::demand_standby`].
    pub async fn promote(&self) -> anyhow::Result<()> {
        let admin = self.admin("postgres").await?;
        if !admin.query_one("SELECT pg_promote(true, 20)", &[]).await?.try_get::<_, bool>(0)? {
            bail!("{} was not promoted: {}", self.name, self.last_words());
        }
        Ok(())
    }

    /// Suspends (SIGSTOP) or resumes (SIGCONT) PostgreSQL's main process and its child processes.
    pub fn signal_all(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.process.pid()?;
        kill_process(pid, signal)?;
        for child in children_of(pid)? {
            // Ignore the error, because the child may have exited.
            let _ = kill_process(child, signal);
        }
        Ok(())
    }

    /// Shuts the server down cleanly and waits until it has exited.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::INT)?;
        self.process.wait().map(drop)
    }

    /// Kills the server and its child processes with SIGKILL, so that its port is free immediately.
    pub fn kill(self) -> anyhow::Result<()> {
        self.kill_all()
    }

    fn kill_all(&self) -> anyhow::Result<()> {
        // Do nothing if the server has exited, because another process may have its id by now.
        if !self.process.is_running() {
            return Ok(());
        }
        let pid = self.process.pid()?;
        // Find the children first, because they get another parent when the process exits.
        let children = children_of(pid)?;
        kill_process(pid, Signal::KILL)?;
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        Ok(())
    }

    /// Returns the end of the log on one line, for error messages.
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
    /// Kills the server and its child processes. If a suspended child were not killed, it would
    /// outlive the server.
    fn drop(&mut self) {
        let _ = self.kill_all();
    }
}

fn children_of(parent: Pid) -> anyhow::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // Skip the process name, which is in parentheses, because it may contain spaces.
        let parent_pid = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        if parent_pid == Some(&parent.as_raw_nonzero().to_string()) {
            children.extend(Pid::from_raw(pid));
        }
    }
    Ok(children)
}
