//! Runs promtool, Prometheus' own tool, on the alerts and on the metrics of a live server.

use super::server::LiveServer;
use super::setup::Setup;
use super::tools::{lines, output_lines};
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// The alert rules that `store-orders alerts` prints. `ALERT_CASES` are unit tests of these rules.
const ALERTS: &str = "src/admin/alerts.yaml";
const ALERT_CASES: &str = "tests/external_checks/alerts.yaml";

/// The server prints the address of the admin listener after this text. The admin listener serves
/// the metrics.
const ADMIN_LINE: &str = "admin listener on http://";

pub(super) fn promtool(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for (task, file) in [("check", ALERTS), ("test", ALERT_CASES)] {
        let file = setup.repository.root().join(file);
        findings.extend(output_lines(Command::new("promtool").args([task, "rules"]).arg(file))?);
    }
    let server = LiveServer::start_with(&setup.program, &["--admin-listen", "127.0.0.1:0"])?;
    let admin = server.printed_after(ADMIN_LINE).context("no admin listener")?;
    let mut check = Command::new("promtool");
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = check.stderr(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("promtool has a standard input")?;
    input.write_all(scrape(admin)?.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() || !output.stderr.is_empty() {
        findings.extend(lines(&check, &output));
    }
    Ok(findings)
}

/// Fetches the metrics in the text format. The server returns this format because the request has
/// no `Accept` header.
fn scrape(admin: &str) -> anyhow::Result<String> {
    let mut connection = TcpStream::connect(admin)?;
    write!(connection, "GET /metrics HTTP/1.0\r\nHost: {admin}\r\n\r\n")?;
    let mut response = String::new();
    connection.read_to_string(&mut response)?;
    let (head, metrics) = response.split_once("\r\n\r\n").context("no HTTP response")?;
    if !head.starts_with("HTTP/1.0 200 ") || !head.contains("version=0.0.4") {
        bail!("the metrics are not in the text format: {head}");
    }
    Ok(metrics.to_string())
}
