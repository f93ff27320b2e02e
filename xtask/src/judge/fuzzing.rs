//! schemathesis against the live server, with all of its checks.

use super::har::{Exchange, exchanges};
use super::server::LiveServer;
use super::setup::Setup;
use super::tools::{lines, output};
use crate::documents::{DOCUMENTS, Document, V2};
use std::process::Command;

/// Paths that end in an id. Invalid ids there must be rejected with 400.
const WITH_ID: [(&str, &str); 3] =
    [("DELETE", "/v1/store/orders/"), ("GET", "/v1/pets/"), ("DELETE", "/v2/store/orders/")];

/// With a limit that no run exhausts.
pub(super) fn large_limit(setup: &Setup) -> anyhow::Result<Vec<String>> {
    run(setup, 1_000_000, 200, &[], |of, exchanges| {
        let limited = exchanges.iter().filter(|exchange| exchange.status == 429).count();
        let mut findings = invalid_ids(of, exchanges);
        findings.extend((limited > 0).then(|| format!("{limited} requests were answered 429")));
        findings
    })
}

/// Whatever is not a 64-bit integer in plain decimal is rejected with 400, and
/// each operation with an id was sent such an id.
fn invalid_ids(of: &Document, exchanges: &[Exchange]) -> Vec<String> {
    let mut findings = Vec::new();
    for (method, path) in WITH_ID.iter().filter(|(_, path)| path.starts_with(of.base_path)) {
        let of_operation = exchanges.iter().filter(|exchange| exchange.method == *method);
        let invalid: Vec<_> = of_operation
            .filter(|exchange| exchange.id_below(path).is_some_and(|id| !is_plain_int64(id)))
            .collect();
        // Without a key the id is not looked at.
        let accepted = invalid.iter().filter(|exchange| !matches!(exchange.status, 400 | 401));
        findings.extend(
            accepted.map(|exchange| format!("{method} {}: {}", exchange.url, exchange.status)),
        );
        if !invalid.iter().any(|exchange| exchange.status == 400) {
            findings.push(format!("no invalid id was sent to {method} {path}"));
        }
    }
    findings
}

fn is_plain_int64(id: &str) -> bool {
    id.parse::<i64>().is_ok_and(|number| number.to_string() == id)
}

/// With a limit so small that most requests are answered 429.
pub(super) fn small_limit(setup: &Setup) -> anyhow::Result<Vec<String>> {
    // schemathesis warns of 429, which is wanted here.
    run(setup, 20, 20, &["--warnings", "off"], |_, exchanges| {
        let limited = exchanges.iter().any(|exchange| exchange.status == 429);
        if limited { Vec::new() } else { vec!["no request was answered 429".to_string()] }
    })
}

fn run(
    setup: &Setup,
    per_minute: u32,
    max_examples: u32,
    more: &[&str],
    further_findings: impl Fn(&Document, &[Exchange]) -> Vec<String>,
) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for of in DOCUMENTS {
        found.extend(run_on(of, setup, per_minute, max_examples, more, &further_findings)?);
    }
    Ok(found)
}

fn run_on(
    of: &Document,
    setup: &Setup,
    per_minute: u32,
    max_examples: u32,
    more: &[&str],
    further_findings: impl Fn(&Document, &[Exchange]) -> Vec<String>,
) -> anyhow::Result<Vec<String>> {
    let server = LiveServer::start(&setup.program)?;
    let key = server.key("judge", per_minute)?;
    let report = server.directory().join("report.har");
    let configuration = format!("schemathesis{}.toml", of.base_path.replace('/', "-"));
    let mut command = setup.tools.python("schemathesis");
    command.env("SCHEMATHESIS_HOOKS", setup.tools.source("schemathesis_checks.py"));
    command.env("KEY", &key).arg("--config-file").arg(setup.tools.source(&configuration));
    // It finds the server by the document, in which `servers` is relative without settings.
    command.arg("run").arg(format!("{}{}", server.origin(), of.path));
    command.args([
        "--checks",
        "all",
        "--seed",
        &testbed::seed().to_string(),
        "--continue-on-failure",
        "--max-examples",
    ]);
    command.args([&max_examples.to_string(), "--generation-database", ":memory:", "--no-color"]);
    command.args(["--report", "har", "--report-har-path"]).arg(&report).args(more);
    if of.base_path == V2.base_path {
        // getOrder finds a cancelled order as well, for good. All checks are named here, so that the
        // configuration cannot leave one out.
        command.args(["--exclude-checks", "use_after_free"]);
    }
    let findings = findings(&mut command)?;
    if findings.is_empty() {
        return Ok(further_findings(of, &exchanges(&report)?));
    }
    Ok(server.with_log(findings, &[&key]))
}

/// Its exit code ignores warnings, which are findings here.
fn findings(command: &mut Command) -> anyhow::Result<Vec<String>> {
    let output = output(command)?;
    let lines = lines(command, &output);
    let clean = output.status.success() && !lines.iter().any(|line| line.contains(" WARNINGS "));
    Ok(if clean { Vec::new() } else { lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;

    fn exchange(method: &str, id: &str, status: u64) -> Exchange {
        let path = if method == "GET" { "pets" } else { "store/orders" };
        let url = format!("http://127.0.0.1:1/v1/{path}/{id}");
        Exchange { method: method.to_string(), url, status }
    }

    #[test]
    fn each_invalid_id_must_be_rejected() {
        let good = [exchange("GET", "x", 400), exchange("DELETE", "01", 400)];
        assert!(invalid_ids(&V1, &good).is_empty());
        let found = [exchange("DELETE", "1.0", 204), exchange("GET", "1", 200)];
        let wrong = invalid_ids(&V1, &[&good[..], &found[..]].concat());
        assert_eq!(wrong, ["DELETE http://127.0.0.1:1/v1/store/orders/1.0: 204"]);
        let wrong = invalid_ids(&V1, &good[..1]);
        assert_eq!(wrong, ["no invalid id was sent to DELETE /v1/store/orders/"]);
    }
}
