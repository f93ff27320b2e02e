//! One client that asks for long lists and reads none, while others change the list: the
//! server's memory stays bounded.

use super::embedded::Embedded;
use crate::scenario::Tools;
use anyhow::Context;
use futures::future::join_all;
use std::time::Duration;
use testbed::{Report, ServerProcess};
use tokio::net::TcpStream;

/// 27 MB in the list.
const ORDERS: i64 = 500_000;
const LISTS: i64 = 60;
const CANCELS_BETWEEN: i64 = 200;

/// MiB that outdated lists may hold.
const BOUND: usize = 128;

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let Embedded { data, key: other, _directory } = Embedded::new(tools, ORDERS)?;
    let greedy = data.issue_enterprise_key("greedy", 10_000_000, 10_000_000)?;
    let bound = BOUND.to_string();
    let server = data.serve(&["--outdated-lists-mib", &bound, "--log-level", "warning"])?;
    let http = reqwest::Client::new();
    let list = format!("{}/store/orders", server.base_url());
    let length = async || -> anyhow::Result<usize> {
        Ok(http
            .get(&list)
            .bearer_auth(&other.text)
            .send()
            .await?
            .error_for_status()?
            .bytes()
            .await?
            .len())
    };
    let bytes = length().await?;
    let before = resident_mib(&server)?;

    let connection = TcpStream::connect(server.address()?).await?;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let (sender, connection) = builder.handshake::<_, bytes::Bytes>(connection).await?;
    let connection = tokio::spawn(connection);
    let mut unread = Vec::new();
    let mut highest = 0;
    for round in 0..LISTS {
        let request = reqwest::Method::GET;
        let request = http::Request::builder()
            .method(request)
            .uri("http://a/v1/store/orders")
            .header("authorization", format!("Bearer {}", greedy.text))
            .body(())?;
        let mut ready = sender.clone().ready().await?;
        unread.push(ready.send_request(request, true)?.0.await?);
        let place = |number: i64| 1 + round + number * (ORDERS / CANCELS_BETWEEN);
        let cancels = (0..CANCELS_BETWEEN).map(|number| {
            let url = format!("{list}/{}", place(number));
            http.delete(url).bearer_auth(&other.text).send()
        });
        join_all(cancels).await;
        length().await.context("a fresh list was refused")?;
        highest = highest.max(resident_mib(&server)?);
    }
    report.figure(format!(
        "{LISTS} unread lists of {} MB, {CANCELS_BETWEEN} cancels between each two: {before} MiB \
         before, at most {highest} MiB",
        bytes / 1_000_000
    ));
    // In addition to the bound: a list that is being made, and what the allocator keeps.
    let allowed = before + BOUND + 4 * bytes / (1024 * 1024) + 64;
    report.expect(highest <= allowed, || format!("memory grew to {highest} MiB, not {allowed}"));
    drop((unread, sender));
    connection.abort();
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.stop()
}

/// The memory that the server has, in MiB.
fn resident_mib(server: &ServerProcess) -> anyhow::Result<usize> {
    let pid = server.process().pid()?.as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: usize = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context("no VmRSS")?
        .trim()
        .parse()?;
    Ok(kib / 1024)
}
