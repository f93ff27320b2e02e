//! A server process under drill, with a relay to each of its neighbours: its clients and
//! the nodes of PostgreSQL.

use crate::replicas::url_of;
use anyhow::Context;
use reqwest::Client;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use testbed::relay::{Relay, Tampering};
use testbed::{DataDir, Program, ServerProcess, Signal};
use tokio::task::block_in_place;

/// How long the admin listener may take to answer.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(3);

/// A server.
pub struct Server {
    /// Its name in the recording.
    pub name: &'static str,
    program: Program,
    directory: PathBuf,
    url: String,
    process: Option<ServerProcess>,
    lives: u32,
    /// From its clients; the port stays when the server is started again.
    pub to_clients: Relay,
    /// To the nodes of PostgreSQL.
    pub to_store: Vec<Relay>,
    http: Client,
}

impl Server {
    /// The server of this name, which is not started yet. With one port, every primary is to be
    /// reached there.
    pub async fn new(
        name: &'static str,
        program: &Program,
        root: &Path,
        nodes: &[u16],
        tampering: Tampering,
    ) -> anyhow::Result<Server> {
        let mut to_store = Vec::new();
        for node in nodes {
            to_store.push(Relay::tampering(*node, tampering).await?);
        }
        // Led to the server when it listens.
        let to_clients = Relay::to(1).await?;
        let url = url_of(to_store.iter().map(|relay| relay.port).collect::<Vec<_>>());
        let (program, directory) = (program.clone(), root.join(name));
        let http = Client::builder().timeout(ADMIN_TIMEOUT).build()?;
        let (process, lives) = (None, 0);
        Ok(Server { name, program, directory, url, process, lives, to_clients, to_store, http })
    }

    /// Starts it, and leads its clients to it; each life has a log of its own.
    pub fn start(&mut self, prepare: impl FnOnce(&mut Command)) -> anyhow::Result<()> {
        self.lives += 1;
        let data = DataDir::beside(&self.program, &self.directory, &self.url);
        std::fs::create_dir_all(&self.directory)?;
        let mut command = data.command();
        prepare(&mut command);
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.args(["--log-level", "info"]);
        // So that nothing but 401 answers a key that was revoked.
        command.args(["--keyless-per-minute", "1000000"]);
        let log = self.directory.join(format!("log-{}", self.lives));
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
