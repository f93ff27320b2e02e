//! A store in PostgreSQL, its server processes, and requests to them. Chaos runs also use a
//! `Replica` for a server on an embedded store.

use anyhow::{Context, bail};
use history::GIVES_UP_AFTER;
use reqwest::Client;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testbed::postgres::{DATABASE, Postgres, USER};
use testbed::{DataDir, Key, Program, ServerProcess, wait_for};
use tokio::io::AsyncWriteExt;
use tokio::process::Child;

/// A store in PostgreSQL, and the operator's commands on it.
pub struct StoreUnderTest {
    program: Program,
    pub url: String,
    directory: tempfile::TempDir,
}

impl StoreUnderTest {
    pub async fn create(program: &Program, url: &str, orders: i64) -> anyhow::Result<Self> {
        let store = StoreUnderTest::open(program, url)?;
        store.run(&["migrate"]).await?;
        store.operate(move |operator| operator.import_pending(1..=orders)).await?;
        Ok(store)
    }

    /// Neither creates nor changes the store at `url`.
    pub fn open(program: &Program, url: &str) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        Ok(StoreUnderTest { program: program.clone(), url: url.to_string(), directory })
    }

    /// Returns a data directory with which the operator's commands reach the store at `url`.
    pub fn operator(&self, url: &str) -> DataDir {
        DataDir::on_store(&self.program, &self.directory.path().join("operator"), url)
    }

    /// Runs `work` with the data directory of the operator's commands. `work` may block.
    pub async fn operate<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DataDir) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let operator = self.operator(&self.url);
        blocking(move || work(&operator)).await
    }

    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let all: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let run = move |operator: &DataDir| {
            operator.run(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        self.operate(run).await
    }

    /// Creates an account with a limit that no scenario reaches, and issues a key for it.
    pub async fn key(&self, account: &str) -> anyhow::Result<Key> {
        let account = account.to_string();
        self.operate(move |operator| operator.issue_enterprise_key(&account, u32::MAX, u32::MAX))
            .await
    }

    pub async fn replica(&self, name: &str, url: &str, flags: &[&str]) -> anyhow::Result<Replica> {
        let data = DataDir::on_store(&self.program, &self.directory.path().join(name), url);
        let mut all = vec!["--log-level", "warning"];
        all.extend(["--admin-listen", "127.0.0.1:0"]);
        all.extend(flags);
        let all: Vec<String> = all.into_iter().map(ToString::to_string).collect();
        let server = blocking(move || {
            let flags: Vec<&str> = all.iter().map(String::as_str).collect();
            data.serve(&flags)
        })
        .await?;
        Replica::new(server)
    }
}

pub struct Replica {
    pub server: ServerProcess,
    admin: String,
    http: Client,
}

impl Replica {
    pub fn new(server: ServerProcess) -> anyhow::Result<Replica> {
        let admin =
            server.printed_after("admin listener on ").context("no admin listener")?.to_string();
        let http = Client::builder().timeout(GIVES_UP_AFTER).build()?;
        Ok(Replica { server, admin, http })
    }

    pub async fn unready_because(&self) -> Option<String> {
        let answer = self.http.get(format!("{}/readyz", self.admin)).send().await;
        match answer {
            Ok(answer) if answer.status() == 200 => None,
            Ok(answer) => Some(answer.text().await.unwrap_or_default()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Waits until the server is ready, and returns the waiting time. Fails after `limit`. The
    /// error says why the server is not ready, and contains the server's log.
    pub async fn ready(&self, limit: Duration) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut why = None;
        let is_ready = async || {
            why = self.unready_because().await;
            why.is_none().then_some(())
        };
        let waited = wait_for("a replica is ready", limit, is_ready).await;
        waited.with_context(|| format!("{}: {}", why.unwrap_or_default(), self.server.log()))?;
        Ok(began.elapsed())
    }

    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(self.http.get(format!("{}/metrics", self.admin)).send().await?.text().await?)
    }

    /// Returns the status of a request with an invalid pet id. A 400 shows that the server accepts
    /// the key.
    pub async fn key_status(&self, key: &str) -> anyhow::Result<u16> {
        let url = format!("{}/pets/x", self.server.base_url());
        Ok(self.http.get(url).bearer_auth(key).send().await?.status().as_u16())
    }

    pub async fn cancel(&self, key: &Key, order: i64) -> anyhow::Result<u16> {
        let url = format!("{}/store/orders/{order}", self.server.base_url());
        Ok(self.http.delete(url).bearer_auth(&key.text).send().await?.status().as_u16())
    }

    pub async fn list(&self, key: &Key) -> anyhow::Result<Vec<u8>> {
        let url = format!("{}/store/orders", self.server.base_url());
        let answer = self.http.get(url).bearer_auth(&key.text).send().await?;
        if answer.status() != 200 {
            bail!("a list was answered {}", answer.status());
        }
        Ok(answer.bytes().await?.to_vec())
    }

    pub async fn list_unless(&self, key: &Key, known: &str) -> anyhow::Result<(u16, String)> {
        let url = format!("{}/store/orders", self.server.base_url());
        let list = self.http.get(url).bearer_auth(&key.text).header("if-none-match", known);
        let answer = list.send().await?;
        let tag = answer.headers().get("etag").context("a list without an entity tag")?;
        Ok((answer.status().as_u16(), tag.to_str()?.to_string()))
    }
}

pub fn url_of(ports: impl AsRef<[u16]>) -> String {
    let hosts: Vec<String> =
        ports.as_ref().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let hosts = hosts.join(",");
    format!("postgres://{USER}@{hosts}/{DATABASE}")
}

/// The roles of the connections that each server has to the primary.
pub const ROLES: [&str; 6] =
    ["writer", "freshness", "reader", "maintenance", "heartbeat", "counts"];

/// Returns `None` once the primary has one connection of each role per server. After `limit`,
/// returns the number of connections of each role.
pub async fn wrong_connections(
    primary: &Postgres,
    servers: usize,
    limit: Duration,
) -> anyhow::Result<Option<BTreeMap<String, usize>>> {
    let expected = ROLES.map(|role| (format!("store-orders {role}"), servers)).into();
    let are_right = async || (connections(primary).await.ok()? == expected).then_some(());
    match wait_for("the connections of sessions", limit, are_right).await {
        Ok(()) => Ok(None),
        Err(_) => connections(primary).await.map(Some),
    }
}

async fn connections(primary: &Postgres) -> anyhow::Result<BTreeMap<String, usize>> {
    let query = "SELECT application_name FROM pg_stat_activity
                 WHERE application_name LIKE 'store-orders %'
                   AND application_name <> 'store-orders command'";
    let mut connections = BTreeMap::new();
    for row in primary.admin(DATABASE).await?.query(query, &[]).await? {
        *connections.entry(row.try_get(0)?).or_default() += 1;
    }
    Ok(connections)
}

/// Starts an import of these orders. Returns once the import's standard input has all orders.
pub async fn begin_import(
    data: &DataDir,
    ids: impl Iterator<Item: Display>,
) -> anyhow::Result<Child> {
    let mut command = data.command();
    command.args(["orders", "import", "-"]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let mut input = import.stdin.take().context("its input is piped")?;
    let rows: String = ids.map(|id| format!("{id},7,1\n")).collect();
    input.write_all(format!("id,petId,quantity\n{rows}").as_bytes()).await?;
    Ok(import)
}

pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("a thread panicked")?
}
