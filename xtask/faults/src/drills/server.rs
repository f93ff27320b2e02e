//! A server process under drill, with a relay to each of its neighbours: its clients and
//! the nodes of PostgreSQL, if it has any.

use crate::replicas::Replica;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testbed::relay::Relay;
use testbed::{DataDir, Key, Preload, ServerProcess, Signal};
use tokio::task::block_in_place;

/// How long a server may take until it is ready, before the drill gives it up.
pub const GIVEN_UP_AFTER: Duration = Duration::from_secs(20);

/// A server.
pub struct Server {
    /// Its name in the recording.
    pub name: &'static str,
    data: DataDir,
    logs: PathBuf,
    replica: Option<Replica>,
    lives: u32,
    /// What it is loaded with: its wall clock, or on an embedded store its disk.
    pub preload: Preload,
    /// From its clients; the port stays when the server is started again.
    pub to_clients: Relay,
    /// To the nodes of PostgreSQL.
    pub to_store: Vec<Relay>,
}

impl Server {
    /// The server of this name, which is not started yet. Its logs are in this directory.
    pub fn new(
        name: &'static str,
        data: DataDir,
        logs: &Path,
        preload: Preload,
        to_store: Vec<Relay>,
    ) -> anyhow::Result<Server> {
        // Led to the server when it listens.
        let to_clients = Relay::to(1)?;
        let (replica, lives, logs) = (None, 0, logs.to_path_buf());
        Ok(Server { name, data, logs, replica, lives, preload, to_clients, to_store })
    }

    /// Starts it, and leads its clients to it; each life has a log of its own.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.lives += 1;
        std::fs::create_dir_all(self.data.path())?;
        std::fs::create_dir_all(&self.logs)?;
        let mut command = self.data.command();
        self.preload.put_into(&mut command);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.args(["--log-level", "info"]);
        // So that nothing but 401 answers a key that was revoked.
        command.args(["--keyless-per-minute", "1000000"]);
        let log = self.logs.join(format!("log-{}", self.lives));
        let process = block_in_place(|| ServerProcess::start(&mut command, &log))?;
        self.to_clients.retarget(process.address()?.port());
        self.replica = Some(Replica::of(process)?);
        Ok(())
    }

    /// Where its clients send requests.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.to_clients.port)
    }

    fn running(&self) -> anyhow::Result<&Replica> {
        self.replica.as_ref().with_context(|| format!("server {} does not run", self.name))
    }

    fn ends(&mut self) -> anyhow::Result<ServerProcess> {
        Ok(self.replica.take().context("the server does not run")?.server)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.running()?.server.signal(signal)
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.ends()?.kill().map(drop)
    }

    /// SIGTERM; it must exit cleanly.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let process = self.ends()?;
        block_in_place(|| process.stop())
    }

    /// Waits until it is ready.
    pub async fn ready(&self) -> anyhow::Result<()> {
        self.running()?.ready(GIVEN_UP_AFTER).await.map(drop)
    }

    /// Whether it says that it is ready.
    pub async fn is_ready(&self) -> bool {
        let Ok(replica) = self.running() else { return false };
        replica.unready_because().await.is_none()
    }

    /// The bytes of its list, not through the relay; `None` unless it is answered 200.
    pub async fn list(&self, key: &Key) -> Option<Vec<u8>> {
        self.running().ok()?.list(key).await.ok()
    }
}
