//! The clock of the promoted primary is two minutes ahead, and is set back later: keys work as
//! soon as they are issued, windows close early, bans are kept, and what was refused stays refused.

use super::setup::{OnPair, expect_agreement};
use crate::replicas::{bases, blocking};
use crate::scenario::Tools;
use anyhow::Context;
use futures::future::try_join_all;
use reqwest::Client;
use std::time::Duration;
use testbed::postgres::Cluster;
use testbed::{DataDir, Key, Preload, Report};

/// How far the clock is ahead, in seconds.
const AHEAD: i64 = 120;

/// Requests a minute of the accounts that reach their limit.
const PER_MINUTE: u32 = 5;

/// How long a first ban lasts, in seconds.
const BAN: i64 = 300;

/// The counts are in a database of their own.
const LIMITS: [&str; 2] = ["--limits-database", "limits"];

/// What a failover may forget of the request counts.
const MAY_BE_LOST: Duration = Duration::from_secs(1);

/// Two keys at their limits: one waits for the next minute, the other one is banned.
struct Clients {
    http: Client,
    bases: Vec<String>,
    limited: Key,
    banned: Key,
}

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { mut cluster, primary, standby, link, store, key, mut replicas } =
        OnPair::start(tools, 10, 0).await?;
    let port = standby.port;
    standby.stop()?;
    let clock = cluster.clock.insert(Preload::wall_clock()?);
    clock.set(AHEAD)?;
    let upstream = Cluster::upstream(link.port);
    let settings = [("primary_conninfo", upstream.as_str())];
    let standby = cluster.start_at("standby", port, &settings).await?;
    primary.wait_for_standby().await?;
    let operator = store.operator(&store.url);
    let [limited, banned] = blocking(move || {
        operator.run(&[&["migrate"], &LIMITS[..]].concat())?;
        let key = |account| operator.issue_enterprise_key(account, PER_MINUTE, u32::MAX);
        Ok([key("limited")?, key("banned")?])
    })
    .await?;
    for name in ["one", "two", "three"] {
        replicas.push(store.replica(name, &store.url, &LIMITS).await?);
    }
    expect_agreement(&replicas, &key, report).await?;
    let clients = Clients { http: Client::new(), bases: bases(&replicas), limited, banned };
    let admitted = clients.use_up(&clients.limited).await?;
    report.expect(admitted == PER_MINUTE, || format!("{admitted} admitted in the first minute"));
    while !clients.ask(0, &clients.banned).await?.is_banned {}
    tokio::time::sleep(MAY_BE_LOST * 2).await;
    primary.kill()?;
    standby.promote().await?;
    expect_agreement(&replicas, &key, report).await?;

    clients.expect_fresh_key(store.operator(&store.url), "ahead", report).await?;
    let admitted = clients.use_up(&clients.limited).await?;
    report.expect(admitted == PER_MINUTE, || {
        format!("{admitted} admitted although the window closed early")
    });
    let ban = clients.ask(0, &clients.banned).await?;
    report.expect(ban.is_banned && ban.retry_after <= BAN - AHEAD, || {
        format!("two minutes ahead the banned key has {ban:?}")
    });

    cluster.clock.as_ref().context("it has a clock")?.set(0)?;
    clients.expect_fresh_key(store.operator(&store.url), "back", report).await?;
    let admitted = clients.use_up(&clients.limited).await?;
    report.expect(admitted == 0, || format!("{admitted} admitted in a window that was used up"));
    let longer = clients.ask(0, &clients.banned).await?;
    report.expect(longer.is_banned && longer.retry_after > ban.retry_after, || {
        format!("set back, the clock shortened the ban: {longer:?}")
    });
    expect_agreement(&replicas, &key, report).await
}

/// What a request has.
#[derive(Debug)]
struct Asked {
    status: u16,
    is_banned: bool,
    /// In seconds; 0 without the header.
    retry_after: i64,
}

impl Clients {
    async fn ask(&self, server: usize, key: &Key) -> anyhow::Result<Asked> {
        let base = self.bases.get(server % self.bases.len()).context("there are servers")?;
        // No pet has such an id: 400 comes after the request was counted.
        let answer = self.http.get(format!("{base}/pets/x")).bearer_auth(&key.text).send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers());
        let retry_after = headers.get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
        let is_banned = answer.text().await?.contains("key_banned");
        Ok(Asked { status, is_banned, retry_after })
    }

    /// How many requests are admitted before the key is refused.
    async fn use_up(&self, key: &Key) -> anyhow::Result<u32> {
        let mut admitted = 0;
        loop {
            match self.ask(usize::try_from(admitted)?, key).await?.status {
                400 => admitted += 1,
                429 => return Ok(admitted),
                status => anyhow::bail!("a request was answered {status}"),
            }
        }
    }

    /// A key that was issued this moment works on every server.
    async fn expect_fresh_key(
        &self,
        operator: DataDir,
        account: &'static str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let fresh =
            blocking(move || operator.issue_enterprise_key(account, u32::MAX, u32::MAX)).await?;
        let asked = (0..self.bases.len()).map(|server| self.ask(server, &fresh));
        for (server, asked) in try_join_all(asked).await?.iter().enumerate() {
            report.expect(asked.status == 400, || {
                format!("clock {account}: server {server} answers a fresh key {asked:?}")
            });
        }
        Ok(())
    }
}
