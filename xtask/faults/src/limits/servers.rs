//! Tests three servers that share request counts in a limits database whose name is not the
//! default. The operator's commands must show the counts and bans.

use crate::replicas::{Replica, StoreUnderTest};
use crate::scenario::Tools;
use anyhow::Context;
use futures::future::join_all;
use reqwest::{Client, Response};
use serde_json::Value;
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, Postgres};
use testbed::relay::{Fault, Relay};
use testbed::{Key, Report, Signal, wait_for};

const REQUESTS: usize = 200;
const ACCOUNTS: usize = 10;
const UNBAN_TIMEOUT: Duration = Duration::from_secs(5);

/// Time within which the other servers must refuse a banned key.
const BAN_TIMEOUT: Duration = Duration::from_secs(1);

/// For this time after a key's first 429 in a minute, further 429s are not strikes.
const BURST: Duration = Duration::from_secs(2);

/// The round-trip time between PostgreSQL and a distant server.
const DISTANT: Duration = Duration::from_millis(60);

/// Flags that give the limits database a name other than the default.
const LIMITS: [&str; 2] = ["--limits-database", "the counts"];

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let store = StoreUnderTest::open(&tools.program, &primary.url())?;
    let operate = async |arguments: &[&str]| store.run(&[arguments, &LIMITS].concat()).await;
    operate(&["migrate"]).await?;
    let mut keys = Vec::new();
    for number in 0..ACCOUNTS {
        let name = format!("account-{number}");
        keys.push(store.operate(move |operator| operator.issue_key(&name, "free")).await?);
    }
    let mut replicas = Vec::new();
    for name in ["one", "two", "three"] {
        replicas.push(store.replica(name, &store.url, &LIMITS).await?);
    }
    let wrong_database = store.replica("four", &store.url, &[]).await.err();
    let refused =
        format!("{:#}", wrong_database.context("a server that counts elsewhere started")?);
    let is_clear = refused.contains("_limits") && refused.contains("does not exist");
    report.expect(is_clear, || refused.clone());
    for key in &keys {
        let answers = send(&replicas, key, REQUESTS).await?;
        let count = |status: u16| answers.iter().filter(|one| one.status() == status).count();
        let counts = (count(200), count(429));
        // Both counts may be lower, because a request that cannot be counted in time gets a 503.
        let is_possible = counts.0 <= 60 && counts.1 <= REQUESTS - 60;
        report.expect(is_possible, || format!("200 and 429: {counts:?}"));
        report.expect_unless_stalled(counts == (60, REQUESTS - 60), || {
            format!("200 and 429: {counts:?}")
        });
    }
    let begun = bans_begun(&replicas).await?;
    report.expect_unless_stalled(begun == 0, || format!("bursts began {begun} bans"));
    tokio::time::sleep(BURST).await;
    // Send these requests to one server, because each server counts strikes only from its own 429s.
    let (first, others) = replicas.split_at(1);
    for key in &keys {
        send(first, key, REQUESTS - 60).await?;
    }
    let begun = bans_begun(&replicas).await?;
    let text = || format!("{begun} bans began, not one for each account");
    report.expect(begun <= ACCOUNTS, text);
    report.expect_unless_stalled(begun == ACCOUNTS, text);
    let began = Instant::now();
    let is_refused = async || {
        for key in &keys {
            for answer in send(others, key, others.len()).await.ok()? {
                answer.text().await.ok().filter(|text| text.contains("key_banned"))?;
            }
        }
        Some(())
    };
    if begun == ACCOUNTS {
        wait_for("the banned keys are refused", 2 * UNBAN_TIMEOUT, is_refused).await?;
        report.time("until other servers refused the banned keys", began.elapsed(), BAN_TIMEOUT);
    }
    let shown: Value =
        serde_json::from_str(&operate(&["accounts", "show", "account-0", "--json"]).await?)?;
    let used = shown.pointer("/usage/day/used").and_then(Value::as_u64);
    report.expect(used == Some(60), || format!("accounts show: {shown}"));
    let listed = operate(&["keys", "list", "--json"]).await?;
    let is_shown = listed.contains("\"bannedUntil\":\"2");
    report.expect(is_shown || begun == 0, || format!("keys list: {listed}"));
    let key = keys.first().context("a key")?;
    operate(&["keys", "unban", &key.id]).await?;
    let began = Instant::now();
    let is_accepted = async || {
        let answer = send(&replicas, key, 1).await.ok()?.pop()?.text().await.ok()?;
        (!answer.contains("key_banned")).then_some(())
    };
    wait_for("the unbanned key is taken", 2 * UNBAN_TIMEOUT, is_accepted).await?;
    report.time("until an unbanned key was taken", began.elapsed(), UNBAN_TIMEOUT);
    report.figure(format!("{REQUESTS} requests at once through 3 servers, {ACCOUNTS} times"));
    expect_last_ban_stored(&store, primary.port, report).await
}

/// Checks that a server stores a ban even if the server is stopped right after the ban began. A
/// relay delays the connection to PostgreSQL, so a server that exits too early would lose the ban.
async fn expect_last_ban_stored(
    store: &StoreUnderTest,
    port: u16,
    report: &mut Report,
) -> anyhow::Result<()> {
    let relay = Relay::to(port)?;
    relay.set(Fault::Delay(DISTANT / 2));
    let key = store.operate(|operator| operator.issue_enterprise_key("distant", 1, 1_000)).await?;
    let replica = store.replica("distant", &Postgres::url_at(relay.port), &LIMITS).await?;
    let replicas = [replica];
    send(&replicas, &key, 2).await?;
    tokio::time::sleep(BURST).await;
    let refused = send(&replicas, &key, 1).await?.pop().context("an answer")?.text().await?;
    let [replica] = replicas;
    replica.server.signal(Signal::TERM)?;
    let (_, log) = replica.server.exited().await;
    report.expect_unless_stalled(refused.contains("key_banned"), || refused.clone());
    let listed = store.run(&[&["keys", "list", "--json"], &LIMITS[..]].concat()).await?;
    let mut lines = listed.lines();
    let is_stored =
        lines.any(|line| line.contains(&key.id) && line.contains("\"bannedUntil\":\"2"));
    report.expect_unless_stalled(is_stored, || format!("the last ban was lost: {log}"));
    Ok(())
}

async fn send(replicas: &[Replica], key: &Key, requests: usize) -> anyhow::Result<Vec<Response>> {
    let http = Client::new();
    let requests_sent = replicas.iter().cycle().take(requests).map(|replica| {
        let url = format!("{}/store/orders", replica.server.base_url());
        http.get(url).bearer_auth(&key.text).send()
    });
    Ok(join_all(requests_sent).await.into_iter().collect::<Result<_, _>>()?)
}

async fn bans_begun(replicas: &[Replica]) -> anyhow::Result<usize> {
    let mut bans = 0;
    for replica in replicas {
        let metrics = replica.metrics().await?;
        let line = metrics.lines().find_map(|line| line.strip_prefix("store_orders_bans_total "));
        bans += line.context("no metric of bans")?.parse::<usize>()?;
    }
    Ok(bans)
}
