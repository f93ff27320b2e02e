//! Reads the values of a document that become constants in Rust. Examples are the document's
//! version, the tables in `info`, and the patterns of keys.

use super::Reader;
use crate::model::{Constant, Table};
use crate::names::{ident, pascal, shouty, snake};
use crate::node::Node;
use serde_json::Value;

impl Reader<'_> {
    pub(super) fn constants(&mut self) -> Vec<Constant> {
        let root = self.root.clone();
        let info = |key: &str| {
            root.get_path(&["info"]).and_then(|info| info.text(key)).unwrap_or_default()
        };
        let constant = |name: &str, about: Option<&str>, value: &str| Constant {
            name: ident(name),
            about: about.map(str::to_string),
            value: value.to_string(),
        };
        let about_path = "The path of the document's server URLs. Empty if their paths differ.";
        let mut constants = vec![
            constant("TITLE", None, info("title")),
            constant("VERSION", None, info("version")),
            constant("BASE_PATH", Some(about_path), &base_path(&root)),
        ];
        for (name, header) in members(&root, &["components", "headers"]) {
            self.check_header(&header);
            if let Some(example) = header.get("example") {
                constants.extend(self.constant(&example, &format!("{name}_example"), None));
            }
        }
        for (name, scheme) in members(&root, &["components", "securitySchemes"]) {
            if let Some(form) = scheme.get("bearerFormat") {
                let about = format!("A regular expression that every valid `{name}` matches.");
                let name = format!("{name}_bearer_format");
                constants.extend(self.constant(&form, &name, Some(about)));
            }
        }
        for (_, operation) in members(&root, &["paths"]).iter().flat_map(|(_, path)| path.members())
        {
            if let (Some(id), Some(sunset)) =
                (operation.text("operationId"), operation.get("x-sunset"))
            {
                let about = format!("The date after which the operation `{id}` may be removed.");
                constants.extend(self.constant(&sunset, &format!("{id}_sunset"), Some(about)));
            }
        }
        constants
    }

    fn constant(&mut self, node: &Node<'_>, name: &str, about: Option<String>) -> Option<Constant> {
        let value = node.value.as_str()?.to_string();
        let name = self.claim_name(node, shouty(name), name)?;
        Some(Constant { name, about, value })
    }

    pub(super) fn tables(&mut self) -> Vec<Table> {
        let root = self.root.clone();
        let mut tables = Vec::new();
        for (key, node) in members(&root, &["info"]) {
            let rows: Vec<_> = node.members().collect();
            let Some((_, first)) = rows.first().filter(|_| key.starts_with("x-")) else { continue };
            let keys: Vec<&str> = first.members().map(|(key, _)| key).collect();
            let is_row = |row: &Node<'_>| {
                let mut numbers = row.members().map(|(_, number)| number.value);
                row.members().map(|(key, _)| key).eq(keys.iter().copied())
                    && numbers.all(|number| number.is_null() || read_number(number).is_some())
            };
            if keys.is_empty() || !rows.iter().all(|(_, row)| is_row(row)) {
                let problem = "is not a table: rows with the same columns of numbers or null";
                self.refuse(&node, problem, "complete it");
                continue;
            }
            let title = key.trim_start_matches("x-");
            let Some(name) = self.claim_name(&node, pascal(title), key) else { continue };
            let row = |(title, _): &(&str, Node<'_>)| Some((pascal(title)?, title.to_string()));
            let column = |column: &&str| {
                let values =
                    rows.iter().map(|(_, row)| row.value.get(*column).and_then(read_number));
                Some((snake(column)?, column.to_string(), values.collect()))
            };
            tables.push(Table {
                name,
                key: key.to_string(),
                rows: rows.iter().filter_map(row).collect(),
                columns: keys.iter().filter_map(column).collect(),
            });
        }
        tables
    }
}

fn read_number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn members<'a>(root: &Node<'a>, path: &[&str]) -> Vec<(&'a str, Node<'a>)> {
    root.get_path(path).iter().flat_map(Node::members).collect()
}

/// Returns the path of the servers' URLs, or an empty string if the paths differ.
pub(super) fn base_path(root: &Node<'_>) -> String {
    let servers = root.get("servers");
    let mut paths = servers.iter().flat_map(Node::elements).map(|server| {
        let url = server.text("url").unwrap_or_default();
        let after_host = url.split_once("://").map_or(url, |(_, rest)| {
            rest.find('/').and_then(|start| rest.get(start..)).unwrap_or_default()
        });
        after_host.trim_end_matches('/').to_string()
    });
    let first = paths.next().unwrap_or_default();
    if paths.all(|path| path == first) { first } else { String::new() }
}
