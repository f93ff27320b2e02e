//! A server process of a chaos run. Relays connect the server with its clients and with the nodes
//! of PostgreSQL.

use crate::replicas::Replica;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testbed::relay::Relay;
use testbed::{DataDir, Key, Preload, ServerProcess, Signal};
use tokio::task::block_in_place;

/// The maximum time that a chaos run waits for a server to become ready. A server that is late at
/// the start or in a rolling restart fails the run. After other faults, only the check of the
/// recorded history reports a late server.
pub const READY_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Server {
    /// The server's name in the recorded history.
    pub name: &'static str,
    data: DataDir,
    logs: PathBuf,
    replica: Option<Replica>,
    starts: u32,
    /// A preloaded library. With an embedded store, the library controls the server's disk. With
    /// PostgreSQL, it controls the server's wall clock.
    pub preload: Preload,
    /// The relay that forwards the clients' connections. Its port stays the same when the server is
    /// restarted.
    pub to_clients: Relay,
    /// The relays to the nodes of PostgreSQL, in the order of the nodes; empty for an embedded
    /// store.
    pub to_store: Vec<Relay>,
}

impl Server {
    pub fn new(
        name: &'static str,
        data: DataDir,
        logs: &Path,
        preload: Preload,
        to_store: Vec<Relay>,
    ) -> anyhow::Result<Server> {
        // Port 1 is a placeholder, because `start` sets the real target later.
        let to_clients = Relay::to(1)?;
        let (replica, starts, logs) = (None, 0, logs.to_path_buf());
        Ok(Server { name, data, logs, replica, starts, preload, to_clients, to_store })
    }

    pub fn start(&mut self) -> anyhow::Result<()> {
        self.starts += 1;
        std::fs::create_dir_all(self.data.path())?;
        std::fs::create_dir_all(&self.logs)?;
        let mut command = self.data.command();
        self.preload.put_into(&mut command);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.args(["--log-level", "info"]);
        // Requests with a revoked key must not reach this limit. If such a request got a 429, the
        // checker of the history would conclude that the server accepted the key.
        command.args(["--unauthenticated-per-minute", "1000000"]);
        let log = self.logs.join(format!("log-{}", self.starts));
        let process = block_in_place(|| ServerProcess::start(&mut command, &log))?;
        self.to_clients.retarget(process.address()?.port());
        self.replica = Some(Replica::new(process)?);
        Ok(())
    }

    /// The base URL for clients, through the relay.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.to_clients.port)
    }

    fn running(&self) -> anyhow::Result<&Replica> {
        self.replica.as_ref().with_context(|| format!("server {} does not run", self.name))
    }

    fn take_process(&mut self) -> anyhow::Result<ServerProcess> {
        Ok(self.replica.take().context("the server does not run")?.server)
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.running()?.server.signal(signal)
    }

    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.take_process()?.kill().map(drop)
    }

    /// Sends SIGTERM and expects a clean exit.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let process = self.take_process()?;
        block_in_place(|| process.stop())
    }

    pub async fn ready(&self) -> anyhow::Result<()> {
        self.running()?.ready(READY_TIMEOUT).await.map(drop)
    }

    pub async fn is_ready(&self) -> bool {
        let Ok(replica) = self.running() else { return false };
        replica.unready_because().await.is_none()
    }

    /// Requests the list from the server, not through the relay for clients. Returns the body of a
    /// 200, or `None` for any other result.
    pub async fn list(&self, key: &Key) -> Option<Vec<u8>> {
        self.running().ok()?.list(key).await.ok()
    }
}
