//! Restarts two servers in turn behind nginx, which uses the configuration of `store-orders
//! nginx-conf`. Every cancellation must get a 204. A 502 would mean that a server stopped without
//! reading a request. A 404 would mean that nginx repeated a request after a server had cancelled
//! the order.

use super::setup::{OnPrimary, READY_WITHIN};
use crate::replicas::{Replica, blocking};
use crate::scenario::Tools;
use anyhow::Context;
use futures::{StreamExt, stream};
use reqwest::Client;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testbed::{Key, Report, free_address, start_nginx};

const ORDERS: i64 = 20_000;

/// The number of orders that clients cancel at the same time. A burst leaves nginx with many idle
/// connections to the servers. A restart then closes those of one server.
const BURST: usize = 20;

/// Time between two bursts. With these pauses, the 20,000 cancellations take at least 40 s, which
/// is enough for four restarts.
const BURST_INTERVAL: Duration = Duration::from_millis(40);

/// The stop delay that the handbook recommends for servers to which nginx forwards requests.
const STOP_DELAY: &str = "8s";

const MIN_RESTARTS: usize = 3;

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let setup = OnPrimary::start(tools, ORDERS, 0).await?;
    let addresses = [free_address()?, free_address()?];
    let start = async |address: SocketAddr| -> anyhow::Result<Replica> {
        let listen = address.to_string();
        let flags = ["--listen", &listen, "--stop-delay", STOP_DELAY];
        let name = format!("replica-{}", address.port());
        let replica = setup.store.replica(&name, &setup.store.url, &flags).await?;
        replica.ready(READY_WITHIN).await?;
        Ok(replica)
    };
    let mut servers = VecDeque::new();
    for address in addresses {
        servers.push_back((address, start(address).await?));
    }

    let directory = tempfile::tempdir()?;
    let nginx = free_address()?;
    let configuration = tools.program.run(&["nginx-conf"])?.success()?;
    let configuration = without_tls(&configuration, nginx, addresses)
        .replace("/run/nginx.pid", "/var/log/nginx/pid")
        .replace("/var/log/nginx", &directory.path().display().to_string());
    let [file, errors] = ["nginx.conf", "errors"].map(|name| directory.path().join(name));
    fs::write(&file, configuration)?;
    let _nginx = blocking(move || start_nginx(&file, &errors, nginx)).await?;

    let mut restarts = 0;
    let restart_in_turn = async {
        loop {
            let (address, server) = servers.pop_front().context("there are two servers")?;
            blocking(move || server.server.stop()).await?;
            servers.push_back((address, start(address).await?));
            restarts += 1;
        }
    };
    let began = Instant::now();
    let outcomes = tokio::select! {
        outcomes = cancel_all(nginx, &setup.key) => outcomes?,
        restarted = restart_in_turn => return restarted,
    };
    report.figure(format!(
        "{restarts} restarts, {ORDERS} cancellations in {:.0?}: {outcomes:?}",
        began.elapsed()
    ));
    report.expect(restarts >= MIN_RESTARTS, || format!("only {restarts} restarts"));
    let log = fs::read_to_string(directory.path().join("store-orders-access.log"))?;
    let is_failed = |line: &&str| line.contains(" DELETE ") && !line.contains(" 204 ");
    let failed: Vec<_> = log.lines().filter(is_failed).take(5).collect();
    report.expect(outcomes.keys().eq(["204"]), || {
        format!("cancellations got {outcomes:?}; nginx logged {failed:#?}")
    });
    Ok(())
}

/// Changes nginx's configuration: nginx listens at `nginx` without TLS, and forwards to both
/// servers.
fn without_tls(configuration: &str, nginx: SocketAddr, servers: [SocketAddr; 2]) -> String {
    let [first, second] = servers.map(|address| address.to_string());
    let is_kept = |line: &&str| !line.contains("ssl_") && !line.contains("listen [::]");
    let lines: Vec<_> = configuration.lines().filter(is_kept).collect();
    lines
        .join("\n")
        .replace("listen 443 ssl http2;", &format!("listen {nginx};"))
        .replace("#server ", "server ")
        .replace("127.0.0.1:8080", &first)
        .replace("127.0.0.1:8090", &second)
}

/// Cancels all orders in bursts. Counts the responses by status, and the failed requests by error.
async fn cancel_all(nginx: SocketAddr, key: &Key) -> anyhow::Result<BTreeMap<String, usize>> {
    let http = Client::new();
    let cancel = async |order: i64| {
        let url = format!("http://{nginx}/v1/store/orders/{order}");
        match http.delete(url).bearer_auth(&key.text).send().await {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(error) => format!("{error:?}"),
        }
    };
    let mut interval = tokio::time::interval(BURST_INTERVAL);
    let mut outcomes = BTreeMap::new();
    let orders: Vec<i64> = (1..=ORDERS).collect();
    for burst in orders.chunks(BURST) {
        interval.tick().await;
        let mut answers = stream::iter(burst.iter().copied()).map(&cancel).buffer_unordered(BURST);
        while let Some(status) = answers.next().await {
            *outcomes.entry(status).or_default() += 1;
        }
    }
    Ok(outcomes)
}
