//! How records and identifiers are made.

use super::{Parts, imports, is_used, shortened};
use crate::client::document::{operations, resolved};
use crate::client::progenitor::Member;
use crate::names::snake;
use crate::node::Node;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The types that are copied, and taken as they are.
const PLAIN: [&str; 13] =
    ["bool", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "isize", "usize"];

pub fn records(parts: &Parts<'_>) -> String {
    let sent = sent(parts);
    let schemas = parts.source.root.at(&["components", "schemas"]);
    let schemas = schemas.iter().flat_map(Node::members);
    let (mut for_all, mut for_tests) = (String::new(), String::new());
    for (name, schema) in schemas.filter(|(name, _)| **name != parts.errors().schema) {
        let Some(members) = parts.core().records.get(name) else { continue };
        if sent.contains(name) {
            for_all += &new(name, &schema, members, true);
        } else {
            for_tests += &new(name, &schema, members, false);
        }
    }
    let own = parts.source.rust.identifiers.iter();
    for_all +=
        &own.filter(|name| parts.core().types.contains(name)).map(identifier).collect::<String>();
    let (for_all, shared) = shortened(&for_all);
    let (for_tests, shared_for_tests) = shortened(&for_tests);
    let own =
        parts.core().types.iter().map(|name| (name.clone(), format!("super::http::types::{name}")));
    let dates = ["DateTime", "Utc"].map(|name| (name.to_string(), format!("chrono::{name}")));
    let all: BTreeMap<_, _> = own.chain(dates).chain(shared).chain(shared_for_tests).collect();
    let is_for_all = |name: &str| is_used(&for_all, name);
    let paths = |wanted: &dyn Fn(&str) -> bool| {
        let paths = all.iter().filter(|(name, _)| wanted(name)).map(|(_, path)| path.as_str());
        imports(&paths.collect::<Vec<_>>())
    };
    let of_all = paths(&|name| is_for_all(name));
    let of_tests = paths(&|name| !is_for_all(name) && is_used(&for_tests, name));
    let of_tests: String =
        of_tests.lines().map(|line| format!("#[cfg(feature = \"testing\")]\n{line}\n")).collect();
    format!("//! How records and identifiers are made.\n\n{of_all}{of_tests}\n{for_all}{for_tests}")
}

/// The names of the schemas that requests send.
fn sent(parts: &Parts<'_>) -> BTreeSet<String> {
    let root = &parts.source.root;
    let mut sent = BTreeSet::new();
    for (.., operation) in operations(root) {
        if let Some(body) = operation.get("requestBody").and_then(|body| resolved(root, &body)) {
            collect(root, body.value, &mut sent);
        }
    }
    sent
}

fn collect(root: &Node<'_>, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(root, value, names)),
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|of| of.strip_prefix("#/components/schemas/"))
                && names.insert(name.to_string())
                && let Some(target) = root.at(&["components", "schemas", name])
            {
                collect(root, target.value, names);
            }
            fields.values().for_each(|value| collect(root, value, names));
        }
        _ => {}
    }
}

/// A record of what is always there, in the document's order; a boolean begins as `false`.
fn new(name: &str, schema: &Node<'_>, members: &[Member], is_sent: bool) -> String {
    let properties = schema.get("properties");
    let keys: Vec<_> =
        properties.iter().flat_map(Node::members).filter_map(|(key, _)| snake(key)).collect();
    let place = |member: &&Member| keys.iter().position(|key| plain(key) == plain(&member.name));
    let mut ordered: Vec<&Member> = members.iter().collect();
    ordered.sort_by_key(place);
    let is_argument = |member: &&&Member| !member.is_optional && member.ty != "bool";
    let arguments = ordered.iter().filter(is_argument).map(|member| {
        let ty = if PLAIN.contains(&member.ty.as_str()) {
            member.ty.clone()
        } else {
            format!("impl Into<{}>", member.ty)
        };
        format!("{}: {ty}", member.name)
    });
    let arguments: Vec<_> = arguments.collect();
    let fields: String = ordered
        .iter()
        .map(|member| match member.ty.as_str() {
            "bool" if !member.is_optional => format!("{}: false,\n", member.name),
            _ if member.is_optional => format!("{}: Default::default(),\n", member.name),
            ty if PLAIN.contains(&ty) => format!("{},\n", member.name),
            _ => format!("{0}: {0}.into(),\n", member.name),
        })
        .collect();
    let (cfg, needs) = if is_sent {
        ("", "")
    } else {
        ("#[cfg(feature = \"testing\")]\n", " Needs the feature `testing`.")
    };
    let flags = members
        .iter()
        .filter(|of| !of.is_optional && of.ty == "bool")
        .map(|of| format!("`{}`", of.name));
    let flags: Vec<_> = flags.collect();
    let begins = if flags.is_empty() {
        String::new()
    } else {
        format!(" {} begins as `false`.", flags.join(" and "))
    };
    let optional =
        if members.iter().any(|of| of.is_optional) { " Set the other members after." } else { "" };
    format!(
        "{cfg}impl {name} {{\n{}    pub fn new({}) -> Self {{\n        Self {{\n{fields}        }}\n    }}\n}}\n\n",
        crate::text::comment(4, &format!("With what is always there.{begins}{optional}{needs}")),
        arguments.join(", "),
    )
}

fn plain(name: &str) -> String {
    crate::client::progenitor::plain(name)
}

fn identifier(name: &String) -> String {
    ["i32", "u32"]
        .map(|of| format!("impl From<{of}> for {name} {{\n    fn from(value: {of}) -> Self {{\n        Self(value.into())\n    }}\n}}\n\n"))
        .concat()
}
