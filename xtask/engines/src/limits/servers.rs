//! Three server processes on copies of one store, which makes their accounts and keys the
//! same, and one Redis behind a password: they count together, and the operator sees it.

use super::clients::{SIXTY_A_DAY, connect, written};
use crate::replicas::Replica;
use anyhow::{Context, bail};
use futures::future::join_all;
use reqwest::{Client, Response};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};
use store_orders_api::plans::PlanLimits;
use testbed::redis::{InstalledRedis, Redis};
use testbed::{DataDir, Key, Program, Report};
use tokio::task::block_in_place;

const REQUESTS: usize = 200;
const ACCOUNTS: usize = 20;
const PASSWORD: &str = "swordfish";

/// All that the user of the servers and of the operator's commands may do.
const RIGHTS: &str = "~sto1:* +info +eval +evalsha +mget +time +get +set";
const WITHIN: Duration = Duration::from_secs(5);

/// Off, but with its rights: Redis 7.0 replays its file with them.
const DEFAULT_USER: &str = "default off ~* &* +@all";

/// Runs it.
pub async fn run(
    installed: &InstalledRedis,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let user = format!("limits on >{PASSWORD} {RIGHTS}");
    let redis = installed.start(&[("user", &user), ("user", DEFAULT_USER)])?;
    let servers = block_in_place(|| ServerProcesses::start(program, &redis))?;
    for key in &servers.keys {
        let answers = servers.send(key, REQUESTS).await?;
        let with = |status: u16| answers.iter().filter(|one| one.status() == status).count();
        let counts = (with(200), with(429));
        report.expect(counts == (60, REQUESTS - 60), || format!("200 and 429: {counts:?}"));
    }
    servers.operator_sees(report).await?;
    let url = redis.url().replace("redis://", &format!("redis://limits:{PASSWORD}@"));
    written(&mut connect(&url).await?).await?;
    let killed = redis.kill()?;
    servers.refuse(report).await?;
    let _redis = killed.restart()?;
    for replica in &servers.replicas {
        replica.ready(WITHIN).await?;
    }
    let [.., key] = &servers.keys[..] else { bail!("no key") };
    let [answer] = &servers.send(key, 1).await?[..] else { bail!("one answer") };
    report.expect(answer.status() == 429, || format!("after all: {}", answer.status()));
    let logs: String = servers.replicas.iter().map(|replica| replica.server.log()).collect();
    report.expect(!logs.contains(PASSWORD), || "a log has the password".to_string());
    report.figure(format!("{REQUESTS} requests at once through 3 servers, {ACCOUNTS} times"));
    Ok(())
}

struct ServerProcesses {
    directory: tempfile::TempDir,
    operators: Vec<DataDir>,
    replicas: Vec<Replica>,
    flags: Vec<String>,
    /// Of an account each: all on the Free plan but the last, which has sixty requests a day.
    keys: Vec<Key>,
    http: Client,
}

impl ServerProcesses {
    fn start(program: &Program, redis: &Redis) -> anyhow::Result<ServerProcesses> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("password");
        std::fs::write(&file, format!("{PASSWORD}\n"))?;
        let first = DataDir::at(program, &directory.path().join("0"));
        let accounts = (0..ACCOUNTS).map(|number| format!("account-{number}"));
        let keys = accounts.map(|name| first.issue_key(&name, "free"));
        let mut keys = keys.collect::<Result<Vec<_>, _>>()?;
        let PlanLimits { per_minute, per_day } = SIXTY_A_DAY;
        keys.push(first.issue_enterprise_key("sixty-a-day", per_minute, per_day)?);
        let mut operators = vec![first];
        for name in ["1", "2"] {
            let mut copy = Command::new("cp");
            if !copy.args(["-a", "0", name]).current_dir(&directory).status()?.success() {
                bail!("the store cannot be copied");
            }
            operators.push(DataDir::at(program, &directory.path().join(name)));
        }
        let file = file.to_str().context("a path in UTF-8")?.to_string();
        let url = redis.url().replace("redis://", "redis://limits@");
        let flags = vec!["--limits".to_string(), url, "--limits-password-file".to_string(), file];
        let mut servers = ServerProcesses {
            directory,
            operators,
            replicas: Vec::new(),
            flags,
            keys,
            http: Client::new(),
        };
        for operator in &servers.operators {
            let own = ["--admin-listen", "127.0.0.1:0", "--log-level", "warning"];
            servers.replicas.push(Replica::of(operator.serve(&servers.flagged(&own))?)?);
        }
        Ok(servers)
    }

    /// These arguments, and where requests are counted.
    fn flagged<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let flags = self.flags.iter().map(String::as_str);
        arguments.iter().copied().chain(flags).collect()
    }

    async fn send(&self, key: &Key, requests: usize) -> anyhow::Result<Vec<Response>> {
        let sent = self.replicas.iter().cycle().take(requests).map(|replica| {
            let url = format!("{}/store/orders", replica.server.base_url());
            self.http.get(url).bearer_auth(&key.text).send()
        });
        Ok(join_all(sent).await.into_iter().collect::<Result<_, _>>()?)
    }

    /// What was counted, the ban, and what lifting it does.
    async fn operator_sees(&self, report: &mut Report) -> anyhow::Result<()> {
        let [operator, ..] = &self.operators[..] else { bail!("no operator") };
        let [key, ..] = &self.keys[..] else { bail!("no key") };
        let shown = block_in_place(|| {
            operator.run_json(&self.flagged(&["accounts", "show", "account-0"]))
        })?;
        let used = shown.pointer("/usage/day/used").and_then(Value::as_u64);
        report.expect(used == Some(60), || format!("accounts show: {shown}"));
        let listed = block_in_place(|| operator.run(&self.flagged(&["keys", "list", "--json"])))?;
        report.expect(listed.contains("\"bannedUntil\":\"2"), || format!("keys list: {listed}"));
        for operator in &self.operators {
            let unban = ["keys", "unban", &key.id];
            let said = block_in_place(|| operator.run(&self.flagged(&unban)))?;
            report.expect(!said.is_empty(), || "keys unban said nothing".to_string());
        }
        let began = Instant::now();
        while self
            .send(key, 1)
            .await?
            .pop()
            .context("an answer")?
            .text()
            .await?
            .contains("key_banned")
        {
            if began.elapsed() > WITHIN {
                bail!("the key is still banned");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let shown = block_in_place(|| operator.run(&self.flagged(&["config", "show", "--json"])));
        report.expect(!shown.unwrap_or_default().contains(PASSWORD), || "a password".to_string());
        for number in ["0", "1", "2"] {
            let file = self.directory.path().join(number).join("limits.sqlite");
            report.expect(!file.exists(), || format!("{} exists", file.display()));
        }
        Ok(())
    }

    /// Without Redis: 503 with the account's figures, and no server is ready.
    async fn refuse(&self, report: &mut Report) -> anyhow::Result<()> {
        let [key, ..] = &self.keys[..] else { bail!("no key") };
        for answer in self.send(key, 3).await? {
            let header = |name: &str| {
                let text = answer.headers().get(name).and_then(|value| value.to_str().ok());
                text.unwrap_or("none").to_string()
            };
            let figures = ["x-ratelimit-limit", "x-ratelimit-remaining", "retry-after"].map(header);
            let is_right = answer.status() == 503 && figures == ["60", "0", "1"];
            report.expect(is_right, || format!("{} {figures:?}", answer.status()));
        }
        for replica in &self.replicas {
            let why = replica.unready_because().await.unwrap_or_default();
            report.expect(why.contains("requests cannot be counted"), || format!("ready: {why}"));
        }
        Ok(())
    }
}
