//! Creates, copies and rebuilds the data directories of PostgreSQL servers, and starts the servers.

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

/// A directory that contains the servers' data directories and logs, and a template from which new
/// data directories are copied.
pub struct Cluster {
    installed: Installed,
    directory: TempDir,
}

impl Cluster {
    pub fn create(installed: &Installed) -> anyhow::Result<Cluster> {
        Cluster::create_in(installed, &std::env::temp_dir())
    }

    /// Creates the cluster's directory below `parent`, and in it the data directory `template`. New
    /// servers are copies of `template`.
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

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Keeps the directory with the data and the logs when the cluster is dropped.
    pub fn keep(&mut self) {
        self.directory.disable_cleanup(true);
    }

    /// Copies a running primary's data directory to the directory `name`, and replaces an existing
    /// directory. No server may use the directory `name` at that time.
    ///
    /// A server that starts in the directory is a standby. The caller must set `primary_conninfo`,
    /// because the copy has no such setting.
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
        // Remove the settings that were changed on the running primary, because they must not apply
        // once the standby is promoted.
        Ok(std::fs::write(directory.join("postgresql.auto.conf"), "")?)
    }

    pub fn upstream(port: u16) -> String {
        format!("host=127.0.0.1 port={port} user={USER} application_name=standby")
    }

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

    /// Starts a new standby called `name`, which follows the primary at `port`. The primary must
    /// still have all of its WAL, because the standby begins as a copy of the template.
    pub async fn standby(&self, name: &str, port: u16) -> anyhow::Result<Postgres> {
        self.copy("template", name)?;
        std::fs::write(self.path().join(name).join("standby.signal"), "")?;
        self.start(name, &[("primary_conninfo", &Cluster::upstream(port))]).await
    }

    pub async fn pair(&self) -> anyhow::Result<Pair> {
        self.copy("template", "primary")?;
        let primary = self.start("primary", &[]).await?;
        let link = Relay::to(primary.port)?;
        let standby = self.standby("standby", link.port).await?;
        // Do not set `synchronous_standby_names` on the command line, because a setting from the
        // command line cannot be changed later.
        primary.demand_standby().await?;
        let admin = primary.admin("postgres").await?;
        admin.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await?;
        Ok(Pair { primary, standby, link })
    }

    /// Sets the next transaction id of a stopped server. The id must be the first one in a segment
    /// of pg_xact.
    pub fn set_next_transaction(&self, name: &str, id: u32) -> anyhow::Result<()> {
        self.installed.run("pg_resetwal", &["-x", &id.to_string(), "-D", name], self.path())
    }

    /// Copies the data directory of a stopped server. Keeps the owner and the modes of the files.
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

    pub async fn start(&self, name: &str, settings: &[(&str, &str)]) -> anyhow::Result<Postgres> {
        let port = free_address()?.port();
        self.start_at(name, port, settings).await
    }

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
        // By default, a standby retries its primary only every 5 s, which would delay tests.
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

pub struct Pair {
    /// The primary. Each commit on the primary waits until the standby has confirmed the commit.
    pub primary: Postgres,
    pub standby: Postgres,
    /// The relay through which the standby connects to the primary.
    pub link: Relay,
}
