//! PostgreSQL is stopped, and no request arrives: Prometheus, with the rules that `alerts` prints,
//! raises an alert that names the reason.

use super::setup::OnPrimary;
use crate::replicas::Replica;
use crate::scenario::Tools;
use anyhow::Context;
use reqwest::Client;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::{ChildProcess, Report, free_address, wait_for};

/// How soon an alert is there.
const FIRES_WITHIN: Duration = Duration::from_secs(120);

/// How soon Prometheus has scraped for the first time.
const SCRAPED_WITHIN: Duration = Duration::from_secs(60);

/// Those that are about a store without an answer.
const EXPECTED: [&str; 2] = ["StoreOrdersNotReady", "StoreOrdersStoreUnreachable"];

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { primary, replicas, cluster: _cluster, .. } =
        OnPrimary::start(tools, 10, 1).await?;
    let server = replicas.first().context("no server")?;
    let directory = tempfile::tempdir()?;
    std::fs::write(
        directory.path().join("alerts.yaml"),
        tools.program.run(&["alerts"])?.success()?,
    )?;
    let prometheus = Prometheus::start(directory.path(), server)?;
    let is_ready = async || prometheus.query("store_orders_ready==1").await.first().map(drop);
    wait_for("Prometheus sees the server as ready", SCRAPED_WITHIN, is_ready).await?;
    let firing = prometheus.firing().await?;
    report.expect_unless_stalled(firing.is_empty(), || {
        format!("alerts while all is well: {firing:?}")
    });
    primary.kill()?;
    let began = Instant::now();
    let fire = async || {
        let firing = prometheus.firing().await.ok()?;
        let fires = |name: &&str| firing.iter().any(|(alert, _)| alert == name);
        EXPECTED.iter().all(fires).then_some(firing)
    };
    let firing = wait_for("the alerts fire without PostgreSQL", 2 * FIRES_WITHIN, fire).await?;
    let names_reason = firing.iter().any(|(_, summary)| summary.contains("store_unreachable"));
    report.expect(names_reason, || format!("no alert names the reason: {firing:?}"));
    report.time("the alerts fire after", began.elapsed(), FIRES_WITHIN);
    Ok(())
}

/// Prometheus itself, which scrapes one server as the handbook says.
struct Prometheus {
    origin: String,
    http: Client,
    _process: ChildProcess,
}

impl Prometheus {
    /// Starts it, with its files in this directory.
    fn start(directory: &Path, server: &Replica) -> anyhow::Result<Prometheus> {
        let (address, target) = (free_address()?, server.admin_address());
        let settings = format!(
            "rule_files: [alerts.yaml]\n\
             scrape_configs:\n\
             - job_name: store-orders\n\
             \u{20} scrape_interval: 15s\n\
             \u{20} static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        std::fs::write(directory.join("prometheus.yml"), settings)?;
        let mut command = Command::new("prometheus");
        command.current_dir(directory).arg("--config.file=prometheus.yml");
        command.arg("--storage.tsdb.path=data").arg(format!("--web.listen-address={address}"));
        let log = std::fs::File::create(directory.join("log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().context("prometheus is missing: apt-get install prometheus")?;
        let process = ChildProcess::new(child, "prometheus");
        let http = Client::builder().timeout(Duration::from_secs(10)).build()?;
        Ok(Prometheus { origin: format!("http://{address}"), http, _process: process })
    }

    /// The samples of a query; none before it listens.
    async fn query(&self, query: &str) -> Vec<Value> {
        let url = format!("{}/api/v1/query?query={query}", self.origin);
        let Ok(answer) = self.http.get(url).send().await else { return Vec::new() };
        let answer: Value = answer.json().await.unwrap_or_default();
        let samples = answer.pointer("/data/result").and_then(Value::as_array);
        samples.cloned().unwrap_or_default()
    }

    /// The names and summaries of the alerts that fire.
    async fn firing(&self) -> anyhow::Result<Vec<(String, String)>> {
        let url = format!("{}/api/v1/alerts", self.origin);
        let answer: Value = self.http.get(url).send().await?.json().await?;
        let alerts = answer.pointer("/data/alerts").and_then(Value::as_array);
        let text = |alert: &Value, path| {
            alert.pointer(path).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let firing = alerts.into_iter().flatten().filter(|alert| text(alert, "/state") == "firing");
        let named = |alert| (text(alert, "/labels/alertname"), text(alert, "/annotations/summary"));
        Ok(firing.map(named).collect())
    }
}
