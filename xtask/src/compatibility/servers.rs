//! Base URLs: where callers send their requests.

use super::findings::Findings;
use super::location::Location;
use super::members::Member;
use serde_json::{Value, json};

/// Compares two lists of servers. A server is identified by its URL with the
/// defaults of its variables filled in, because two may share one template.
/// Without servers, or with an empty list, the base URL is `/`.
pub(super) fn compare(
    findings: &mut Findings,
    at: &Location,
    old: Option<&Value>,
    new: Option<&Value>,
) {
    let (old, new) = (servers(old), servers(new));
    for (url, server) in &old {
        let at = at.part(url, url);
        match new.iter().find(|(other, _)| other == url) {
            Some((_, other)) => findings.members(&at, server, other, server_member),
            None => findings.breaking(&at, "is no longer a base URL"),
        }
    }
    for (url, _) in new.iter().filter(|(url, _)| !old.iter().any(|(other, _)| other == url)) {
        findings.addition(&at.part(url, url), "is a new base URL");
    }
    let first = |servers: &[(String, Value)]| servers.first().map(|(url, _)| url.clone());
    let (before, now) = (first(&old), first(&new));
    // Where the old first one is removed, that is reported above.
    if before != now && new.iter().any(|(url, _)| Some(url) == before.as_ref()) {
        let at = at.named(&at.name_of("servers"));
        findings.breaking(&at, "begins with another URL, which tools take for the default");
    }
}

fn servers(list: Option<&Value>) -> Vec<(String, Value)> {
    let default = vec![json!({ "url": "/" })];
    let list = list.and_then(Value::as_array).filter(|list| !list.is_empty());
    list.unwrap_or(&default).iter().map(|server| (url(server), server.clone())).collect()
}

/// The URL of a server with the defaults of its variables.
pub fn url(server: &Value) -> String {
    let mut url = server["url"].as_str().unwrap_or_default().to_string();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = variable["default"].as_str().unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    url
}

fn server_member(findings: &mut Findings, member: &Member<'_>) {
    match member.key {
        "description" => findings.text(member),
        "url" => findings.breaking(&member.at, member.transition()),
        "variables" => findings.inside(member, variable),
        _ => findings.other(member),
    }
}

fn variable(findings: &mut Findings, variable: &Member<'_>) {
    let at = variable.part();
    match variable.both() {
        Some((old, new)) => findings.members(&at, old, new, |findings, member| match member.key {
            "description" => findings.text(member),
            _ => findings.other(member),
        }),
        None => findings.breaking(&at, variable.transition()),
    }
}
