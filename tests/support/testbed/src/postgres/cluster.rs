//! Data directories of PostgreSQL below one directory: copied, started, rebuilt from each other.

use super::{DATABASE, Installed, Postgres, USER};
use crate::child_process::ChildProcess;
use crate::free_address;
use crate::relay::Relay;
use anyhow::{Context, bail};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

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

    /// A new, empty one below this directory.
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

    /// Replaces this data directory, if it is there, by a copy of a running primary's that
    /// follows it when it is started. No server may run on it. The copy takes seconds, on a thread
    /// of its own: who polls meanwhile must not be late.
    pub async fn rebuild(&self, name: &str, primary: &Postgres) -> anyhow::Result<()> {
        let directory = self.path().join(name);
        let (installed, parent) = (self.installed.clone(), self.path().to_path_buf());
        let (port, name, old) = (primary.port.to_string(), name.to_string(), directory.clone());
        let copy = move || {
            if old.exists() {
                std::fs::remove_dir_all(&old)?;
            }
            let source = ["-h", "127.0.0.1", "-p", &port, "-U", USER];
            let how = ["-D", &name, "-c", "fast", "-X", "stream", "--no-sync"];
            installed.run("pg_basebackup", &[&source[..], &how[..]].concat(), &parent)
        };
        tokio::task::spawn_blocking(copy).await.context("a thread panicked")??;
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

    /// Starts a new standby of this name, which follows the new primary behind this port.
    pub async fn standby(&self, name: &str, port: u16) -> anyhow::Result<Postgres> {
        // A copy of a cluster that was never started is a valid standby.
        self.copy("template", name)?;
        std::fs::write(self.path().join(name).join("standby.signal"), "")?;
        self.start(name, &[("primary_conninfo", &Cluster::upstream(port))]).await
    }

    /// Starts a new primary and its synchronous standby.
    pub async fn pair(&self) -> anyhow::Result<Pair> {
        self.copy("template", "primary")?;
        let primary = self.start("primary", &[]).await?;
        let link = Relay::to(primary.port)?;
        let standby = self.standby("standby", link.port).await?;
        // Not on its command line, which nothing could change later.
        primary.demand_standby().await?;
        let admin = primary.admin("postgres").await?;
        admin.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await?;
        Ok(Pair { primary, standby, link })
    }

    /// Gives the next transaction of this data directory, whose server was shut down, this id,
    /// which is the first of a segment of pg_xact.
    pub fn set_next_transaction(&self, name: &str, id: u32) -> anyhow::Result<()> {
        self.installed.run("pg_resetwal", &["-x", &id.to_string(), "-D", name], self.path())
    }

    /// Copies the data directory of a server that does not run.
    pub fn copy(&self, from: &str, to: &str) -> anyhow::Result<()> {
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
        let port = free_address()?.port();
        self.start_at(name, port, settings).await
    }

    /// Starts the server of this data directory on this port.
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
        // A standby looks for its primary every 5 s by default.
        command.args(["-c", "wal_retrieve_retry_interval=100ms"]);
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
