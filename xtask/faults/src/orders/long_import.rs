//! An import of millions of orders that is not committed, and its roll-back: lists and
//! cancellations take no longer than without it, because nothing that they ask walks its rows. And
//! imports that are committed: lists do not wait while servers read them, and wait if these fail to.

use super::setup::{OnPrimary, expect_agreement};
use crate::replicas::{Replica, blocking};
use crate::scenario::Tools;
use anyhow::{Context, ensure};
use reqwest::Client;
use std::process::Stdio;
use std::time::{Duration, Instant};
use testbed::postgres::DATABASE;
use testbed::{DataDir, Key, Report};
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

const ORDERS: i64 = 200;

/// As an import writes them, with a version far above the newest.
const IMPORT: &str = "
    INSERT INTO orders
    SELECT 1000 + n, 7, 1, NULL, false, 'pending', 1000000002, NULL, NULL, NULL
    FROM generate_series(1, 3000000) n";

/// Requests of each kind in each state of the import.
const ROUNDS: usize = 15;

/// What half of them take at most. A walk over the rows takes 1.5 s, without any other load.
const USUALLY_WITHIN: Duration = Duration::from_millis(500);

/// How many orders are committed, which servers read for longer than a list may wait.
const COMMITTED: i64 = 200_000;

/// How long each list waits at most meanwhile.
const LONGEST: Duration = Duration::from_secs(1);

/// How soon a server has completed what a command left that was killed.
const COMPLETED_WITHIN: Duration = Duration::from_secs(10);

/// Whether an import waits for servers.
const WAITS: &str =
    "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 3)";

/// What a server logs whose connection ends while it reads an import ahead.
const NOT_READ_AHEAD: &str = "an import was not read ahead";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key, replicas } =
        OnPrimary::start(tools, ORDERS, 3).await?;
    let (mut next, mut admin) = (1, primary.admin(DATABASE).await?);
    let transaction = admin.transaction().await?;
    let began = Instant::now();
    transaction.batch_execute(IMPORT).await?;
    report.figure(format!("written in {:.1?}", began.elapsed()));
    let mut transaction = Some(transaction);
    for state in ["not committed", "rolled back"] {
        let (mut lists, mut cancellations, mut failed) = (Vec::new(), Vec::new(), 0);
        for replica in replicas.iter().cycle().take(ROUNDS) {
            let sent = Instant::now();
            let status = replica.cancel(&key, next).await?;
            cancellations.push(sent.elapsed());
            let sent = Instant::now();
            let listed = replica.list(&key).await;
            lists.push(sent.elapsed());
            failed += usize::from(status != 204) + usize::from(listed.is_err());
            next += 1;
        }
        for (what, mut times) in [("list", lists), ("cancellation", cancellations)] {
            times.sort_unstable();
            let median = times.get(ROUNDS / 2).copied().context("there are as many")?;
            report.time(format!("a {what} while it is {state}"), median, USUALLY_WITHIN);
        }
        report.expect(failed == 0, || format!("{failed} requests failed while it is {state}"));
        if let Some(transaction) = transaction.take() {
            transaction.rollback().await?;
        }
    }
    expect_agreement(&replicas, &key, report).await?;

    let mut listed = listed(&replicas, &key).await?.len();
    let operator = store.operator(&store.url);
    let import = blocking(move || operator.import_pending(10_000_001..=10_000_000 + COMMITTED));
    let longest = longest_wait(&replicas, &key, tokio::spawn(import)).await?;
    report.time("a list while an import is committed", longest, LONGEST);
    listed += usize::try_from(COMMITTED)?;
    expect_listed(&replicas, &key, listed, "after the import", report).await?;

    let killed = kill_while_it_waits(store.operator(&store.url), primary.admin(DATABASE).await?);
    let longest = longest_wait(&replicas, &key, tokio::spawn(killed)).await?;
    report.time("a list while the command is killed", longest, LONGEST);
    sleep(COMPLETED_WITHIN).await;
    listed += usize::try_from(COMMITTED)?;
    expect_listed(&replicas, &key, listed, "after the command was killed", report).await?;

    cut_off_readers(store.operator(&store.url), primary.admin(DATABASE).await?).await?;
    listed += usize::try_from(COMMITTED)?;
    expect_listed(&replicas, &key, listed, "after servers were cut off", report).await?;
    let is_told = replicas.iter().any(|replica| replica.server.log().contains(NOT_READ_AHEAD));
    report.expect(is_told, || "no server logged that it was cut off".to_string());
    Ok(())
}

/// How long a list waits at most until it begins, until this is done.
async fn longest_wait(
    replicas: &[Replica],
    key: &Key,
    done: tokio::task::JoinHandle<anyhow::Result<()>>,
) -> anyhow::Result<Duration> {
    let (http, mut longest) = (Client::new(), Duration::ZERO);
    while !done.is_finished() {
        for replica in replicas {
            let url = format!("{}/store/orders", replica.server.base_url());
            let sent = Instant::now();
            let status = http.get(url).bearer_auth(&key.text).send().await?.status();
            longest = longest.max(sent.elapsed());
            ensure!(status == 200, "a list was answered {status}");
        }
        sleep(Duration::from_millis(10)).await;
    }
    done.await??;
    Ok(longest)
}

async fn listed(replicas: &[Replica], key: &Key) -> anyhow::Result<Vec<serde_json::Value>> {
    let first = replicas.first().context("there are replicas")?;
    Ok(serde_json::from_slice(&first.list(key).await?)?)
}

/// Every server lists as many orders.
async fn expect_listed(
    replicas: &[Replica],
    key: &Key,
    orders: usize,
    when: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    for replica in replicas {
        let listed = listed(std::slice::from_ref(replica), key).await?.len();
        report.expect(listed == orders, || format!("{listed} of {orders} listed {when}"));
    }
    Ok(())
}

/// SIGKILL for the command of an import that is stored and not a change yet.
async fn kill_while_it_waits(data: DataDir, admin: tokio_postgres::Client) -> anyhow::Result<()> {
    let mut command = data.command();
    command.args(["orders", "import", "-"]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let mut input = import.stdin.take().context("its input is piped")?;
    let rows = (20_000_001..=20_000_000 + COMMITTED).map(|id| format!("{id},7,1\n"));
    input.write_all(format!("id,petId,quantity\n{}", rows.collect::<String>()).as_bytes()).await?;
    drop(input);
    while !admin.query_one(WAITS, &[]).await?.get::<_, bool>(0) {
        ensure!(import.try_wait()?.is_none(), "the import did not wait for servers");
        sleep(Duration::from_millis(10)).await;
    }
    Ok(import.kill().await?)
}

/// Imports orders, and ends the connections of servers that read them ahead.
async fn cut_off_readers(data: DataDir, admin: tokio_postgres::Client) -> anyhow::Result<()> {
    let import =
        tokio::spawn(blocking(move || data.import_pending(30_000_001..=30_000_000 + COMMITTED)));
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE application_name = 'store-orders ahead'";
    while admin.query_one(end, &[]).await?.get::<_, i64>(0) == 0 {
        ensure!(!import.is_finished(), "no server read the import ahead");
        sleep(Duration::from_millis(10)).await;
    }
    import.await?
}
