//! Base addresses: where callers send what they send.

use super::at::At;
use super::judge::Judge;
use super::members::{Member, differing};
use serde_json::{Map, Value};

/// Judges two lists of servers. A server is known by its address with the
/// defaults of its variables filled in: two may share one template.
pub(super) fn judge(judge: &mut Judge, member: &Member<'_>) {
    let (old, new) = (servers(member.old), servers(member.new));
    for (address, server) in &old {
        let at = member.at.named(address, address);
        match new.iter().find(|(other, _)| other == address) {
            Some((_, other)) => server_objects(judge, &at, server, other),
            None => judge.breaking(&at, "is no longer a base address"),
        }
    }
    for (address, _) in &new {
        if !old.iter().any(|(other, _)| other == address) {
            judge.addition(&member.at.named(address, address), "is a new base address");
        }
    }
    let first = |servers: &[(String, Value)]| servers.first().map(|(address, _)| address.clone());
    let (before, now) = (first(&old), first(&new));
    // Where the old first one is gone, that is said above.
    if before != now && new.iter().any(|(address, _)| Some(address) == before.as_ref()) {
        judge.breaking(&member.at, "begins with another address, which tools take for the default");
    }
}

fn servers(list: Option<&Value>) -> Vec<(String, Value)> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().map(|server| (address(server), server.clone())).collect()
}

fn address(server: &Value) -> String {
    let mut address = server["url"].as_str().unwrap_or_default().to_string();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = variable["default"].as_str().unwrap_or_default();
        address = address.replace(&format!("{{{name}}}"), default);
    }
    address
}

fn server_objects(judge: &mut Judge, at: &At, old: &Value, new: &Value) {
    judge.members(at, old, new, |judge, member| match member.key {
        "description" => judge.text(member),
        "url" => judge.breaking(&member.at, member.turned()),
        "variables" => variables(judge, member),
        _ => judge.other(member),
    });
}

fn variables(judge: &mut Judge, member: &Member<'_>) {
    let empty = Map::new();
    let of = |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned();
    let (old, new) = (of(member.old).unwrap_or_default(), of(member.new).unwrap_or(empty));
    for variable in differing(&member.at, &old, &new) {
        let at = member.at.named(variable.key, variable.key);
        match variable.both() {
            Some((old, new)) => judge.members(&at, old, new, |judge, member| match member.key {
                "description" => judge.text(member),
                "enum" => choices(judge, member),
                _ => judge.other(member),
            }),
            None => judge.breaking(&at, variable.turned()),
        }
    }
}

/// The values that a variable may take: callers fill them in.
fn choices(judge: &mut Judge, member: &Member<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    match (list(member.old), list(member.new)) {
        (Some(old), Some(new)) if old.iter().any(|value| !new.contains(value)) => {
            judge.breaking(&member.at, "takes fewer values");
        }
        (Some(old), Some(new)) if new.iter().any(|value| !old.contains(value)) => {
            judge.addition(&member.at, "takes more values");
        }
        (Some(_), Some(_)) => judge.neutral(&member.at, "lists its values in another order"),
        (Some(_), None) => judge.addition(&member.at, "takes any value"),
        _ => judge.breaking(&member.at, "takes only some values"),
    }
}
