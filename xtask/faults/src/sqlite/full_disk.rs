//! A disk that is full before the first cancellation: each is refused, lists go on, commands fail
//! with one line that says why and leave nothing behind, and a server that is killed on it loses
//! nothing.

use super::embedded::Embedded;
use crate::replicas::blocking;
use crate::scenario::Tools;
use anyhow::Context;
use futures::future::join_all;
use history::ANSWER_LIMIT;
use reqwest::Client;
use std::process::Output;
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, ServerProcess, SmallDisk};

const DISK_KIB: u64 = 24 * 1024;
const ORDERS: usize = 20_000;

/// The orders that clients cancel.
const CANCELLED: std::ops::RangeInclusive<i64> = 1..=100;

/// The server finds out that there is room with the next cancellation.
const HEALS_WITHIN: Duration = Duration::from_secs(2);

const COMMANDS: [&[&str]; 4] = [
    &["keys", "issue", "--account", "clients"],
    &["accounts", "create", "other", "--plan", "free"],
    &["orders", "ship", "19999"],
    &["backup", "b.sqlite"],
];

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let disk = SmallDisk::mount(DISK_KIB)?;
    let Embedded { data, key, .. } =
        Embedded::at(DataDir::at(&tools.program, disk.path()), i64::try_from(ORDERS)?)?;
    let server = data.serve(&["--log-level", "warning"])?;
    let (http, full) = (Client::new(), disk.keep_full()?);
    let refused = join_all(CANCELLED.map(|order| cancel(&http, &server, &key, order))).await;
    for answer in refused {
        let (status, says_when, took) = answer?;
        report.expect(status == 503 && says_when, || format!("a full disk: {status}"));
        report.expect(took < ANSWER_LIMIT, || format!("a refusal took {took:.2?}"));
    }
    let listed = listed(&http, &server, &key).await?;
    report.expect(listed == ORDERS, || format!("a list shows {listed} orders"));
    for arguments in COMMANDS {
        let mut command = data.command();
        command.args(arguments).current_dir(disk.path());
        expect_reason(&blocking(move || Ok(command.output()?)).await?, report);
    }
    let left = std::fs::read_dir(disk.path())?.flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| is_of_backup(&name.to_string_lossy())).collect();
    report.expect(left.is_empty(), || format!("the backup left {left:?}"));

    drop(full);
    let room = Instant::now();
    while cancel(&http, &server, &key, 1).await?.0 != 204 {
        anyhow::ensure!(room.elapsed() < 10 * HEALS_WITHIN, "no cancellation after there is room");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    report.time("the first cancel after there is room", room.elapsed(), HEALS_WITHIN);
    for order in CANCELLED.skip(1) {
        let (status, ..) = cancel(&http, &server, &key, order).await?;
        report.expect(status == 204, || format!("order {order} after there is room: {status}"));
    }
    let full = disk.keep_full()?;
    server.kill()?;
    let restarted = data.serve(&["--log-level", "warning"]);
    let outcome =
        restarted.as_ref().map_or_else(|error| format!("{error:#}"), |_| "it serves".into());
    report.figure(format!("killed and started again on the full disk: {outcome}"));
    drop((restarted, full));
    data.serve(&["--log-level", "warning"])?.stop()?;
    let stored = data.run_json(&["orders", "list", "--status", "cancelled"])?;
    let stored = stored.as_array().map_or(0, Vec::len);
    report.expect(stored == CANCELLED.count(), || format!("{stored} orders are cancelled"));
    // Exits with an error if it finds anything.
    data.run(&["check"]).context("after all").map(drop)
}

/// The status of a cancellation, whether it says when to try again, and how long it took.
async fn cancel(
    http: &Client,
    server: &ServerProcess,
    key: &Key,
    order: i64,
) -> anyhow::Result<(u16, bool, Duration)> {
    let began = Instant::now();
    let request = http.delete(format!("{}/store/orders/{order}", server.base_url()));
    let answer = request.bearer_auth(&key.text).send().await?;
    let says_when = answer.headers().contains_key("retry-after");
    Ok((answer.status().as_u16(), says_when, began.elapsed()))
}

async fn listed(http: &Client, server: &ServerProcess, key: &Key) -> anyhow::Result<usize> {
    let list = http.get(format!("{}/store/orders", server.base_url())).bearer_auth(&key.text);
    Ok(list.send().await?.error_for_status()?.json::<Vec<serde_json::Value>>().await?.len())
}

/// A command that fails with one line, which names the reason.
fn expect_reason(output: &Output, report: &mut Report) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_clear = error.starts_with("error: ")
        && error.trim_end().lines().count() == 1
        && (error.contains("full") || error.contains("No space left"));
    report.expect(output.status.code() == Some(1) && is_clear, || {
        format!("a command on a full disk: {}, {error:?}", output.status)
    });
}

/// A backup, or the copy that becomes one.
fn is_of_backup(name: &str) -> bool {
    name == "b.sqlite" || name.starts_with(".store-orders-")
}
