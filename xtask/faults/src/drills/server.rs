//! A server process under drill, with a relay to each of its neighbours: its clients and
//! the nodes of PostgreSQL, if it has any.

use anyhow::Context;
use reqwest::Client;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testbed::relay::Relay;
use testbed::{DataDir, ServerProcess, Signal};
use tokio::task::block_in_place;

/// How long the admin listener may take to answer.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(3);

/// A server.
pub struct Server {
    /// Its name in the recording.
    pub name: &'static str,
    data: DataDir,
    logs: PathBuf,
    process: Option<ServerProcess>,
    lives: u32,
    /// From its clients; the port stays when the server is started again.
    pub to_clients: Relay,
    /// To the nodes of PostgreSQL.
    pub to_store: Vec<Relay>,
    http: Client,
}

impl Server {
    /// The server of this name, which is not started yet. Its logs are in this directory.
    pub async fn new(
        name: &'static str,
        data: DataDir,
        logs: &Path,
        to_store: Vec<Relay>,
    ) -> anyhow::Result<Server> {
        // Led to the server when it listens.
        let to_clients = Relay::to(1).await?;
        let http = Client::builder().timeout(ADMIN_TIMEOUT).build()?;
        let (process, lives, logs) = (None, 0, logs.to_path_buf());
        Ok(Server { name, data, logs, process, lives, to_clients, to_store, http })
    }

    /// Starts it, and leads its clients to it; each life has a log of its own.
    pub fn start(&mut self, prepare: impl FnOnce(&mut Command)) -> anyhow::Result<()> {
        self.lives += 1;
        std::fs::create_dir_all(self.data.path())?;
        std::fs::create_dir_all(&self.logs)?;
        let mut command = self.data.command();
        prepare(&mut command);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.args(["--log-level", "info"]);
        // So that nothing but 401 answers a key that was revoked.
        command.args(["--keyless-per-minute", "1000000"]);
        let log = self.logs.join(format!("log-{}", self.lives));
        let process = block_in_place(|| ServerProcess::start(&mut command, &log))?;
        self.to_clients.retarget(process.address()?.port());
        self.process = Some(process);
        Ok(())
    }

    /// Where its clients send requests.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.to_clients.port)
    }

    fn running(&self) -> anyhow::Result<&ServerProcess> {
        self.process.as_ref().with_context(|| format!("server {} does not run", self.name))
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.running()?.signal(signal)
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.take().context("the server does not run")?.kill().map(drop)
    }

    /// SIGTERM; it must exit cleanly.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        let process = self.process.take().context("the server does not run")?;
        block_in_place(|| process.stop())
    }

    async fn admin(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let admin =
            self.running()?.printed_after("admin listener on ").context("no admin listener")?;
        let answer = self.http.get(format!("{admin}{path}")).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Whether it says that it is ready.
    pub async fn is_ready(&self) -> bool {
        self.admin("/readyz").await.is_ok_and(|(status, _)| status == 200)
    }

    /// The bytes of its list, not through the relay; `None` unless it is answered 200.
    pub async fn list(&self, key: &str) -> Option<Vec<u8>> {
        let url = format!("{}/store/orders", self.running().ok()?.base_url());
        let answer = self.http.get(url).bearer_auth(key).send().await.ok()?;
        if answer.status() != 200 {
            return None;
        }
        Some(answer.bytes().await.ok()?.to_vec())
    }
}
