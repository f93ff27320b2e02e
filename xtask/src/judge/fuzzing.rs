//! schemathesis against the live server: every check that it has.

use super::Court;
use super::report::{Exchange, exchanges};
use crate::repository::DOCUMENT;
use std::process::Command;
use store_orders_api::types::plain_int64;

/// Paths that end in an id, whose wrong ids have to be refused with 400.
const WITH_ID: [(&str, &str); 2] = [("DELETE", "/store/orders/"), ("GET", "/pets/")];

/// With so large a limit that no request is refused for it.
pub(super) fn with_room(court: &Court) -> anyhow::Result<Option<String>> {
    run(court, 1_000_000, 200, &[], |exchanges| {
        let refused = exchanges.iter().filter(|exchange| exchange.status == 429).count();
        let mut wrong = wrong_ids(exchanges);
        wrong.extend((refused > 0).then(|| format!("{refused} requests were refused with 429")));
        wrong
    })
}

/// Whatever is no 64-bit integer in plain decimal is refused with 400, and there
/// was such an id for each operation that takes one.
fn wrong_ids(exchanges: &[Exchange]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (method, path) in WITH_ID {
        let of_operation = exchanges.iter().filter(|exchange| exchange.method == method);
        let bad: Vec<_> = of_operation
            .filter(|exchange| exchange.id_below(path).is_some_and(|id| plain_int64(id).is_none()))
            .collect();
        // Without a key there is no telling what would have been said of the id.
        let accepted = bad.iter().filter(|exchange| !matches!(exchange.status, 400 | 401));
        wrong.extend(
            accepted.map(|exchange| format!("{method} {}: {}", exchange.url, exchange.status)),
        );
        if !bad.iter().any(|exchange| exchange.status == 400) {
            wrong.push(format!("no wrong id was sent to {method} {path}"));
        }
    }
    wrong
}

/// With so small a limit that most requests are refused for it: what the
/// document says of 429 is true of it.
pub(super) fn up_to_the_limit(court: &Court) -> anyhow::Result<Option<String>> {
    let wanted = |exchanges: &[Exchange]| {
        let refused = exchanges.iter().filter(|exchange| exchange.status == 429).count();
        if refused == 0 { vec!["nothing was answered with 429".to_string()] } else { vec![] }
    };
    // It warns of 429, which is what is wanted here.
    run(court, 20, 20, &["--warnings", "off"], wanted)
}

fn run(
    court: &Court,
    per_minute: u32,
    examples: u32,
    more: &[&str],
    wanted: impl Fn(&[Exchange]) -> Vec<String>,
) -> anyhow::Result<Option<String>> {
    let server = court.live.start()?;
    let key = server.key("judge", per_minute)?;
    let report = server.directory().join("report.har");
    let mut command = court.tools.python("schemathesis");
    command.env("KEY", &key).arg("--config-file").arg(court.tools.source("schemathesis.toml"));
    command
        .arg("run")
        .arg(court.repository.root().join(DOCUMENT))
        .args(["--url", &server.base_url]);
    command.args(["--checks", "all", "--continue-on-failure", "--max-examples"]);
    command.args([&examples.to_string(), "--generation-database", ":memory:", "--no-color"]);
    command.args(["--report", "har", "--report-har-path"]).arg(&report).args(more);
    if let Some(text) = findings(&mut command)? {
        return Ok(Some(server.explained(&text, &[&key])));
    }
    let missing = wanted(&exchanges(&report)?);
    Ok((!missing.is_empty()).then(|| missing.join("\n")))
}

/// Warnings do not fail its run, and are findings all the same.
fn findings(command: &mut Command) -> anyhow::Result<Option<String>> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let content = output.status.success() && !text.contains(" WARNINGS ");
    Ok((!content).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(method: &str, id: &str, status: u64) -> Exchange {
        let path = if method == "GET" { "pets" } else { "store/orders" };
        let url = format!("http://127.0.0.1:1/v1/{path}/{id}");
        Exchange { method: method.to_string(), url, status }
    }

    #[test]
    fn each_wrong_id_has_to_be_refused() {
        let good = [exchange("GET", "x", 400), exchange("DELETE", "01", 400)];
        assert!(wrong_ids(&good).is_empty());
        let found = [exchange("DELETE", "1.0", 204), exchange("GET", "1", 200)];
        let wrong = wrong_ids(&[&good[..], &found[..]].concat());
        assert_eq!(wrong, ["DELETE http://127.0.0.1:1/v1/store/orders/1.0: 204"]);
        let wrong = wrong_ids(&good[..1]);
        assert_eq!(wrong, ["no wrong id was sent to DELETE /store/orders/"]);
    }
}
