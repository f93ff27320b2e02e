//! What programs read in a document besides its operations, as constants: its version, tables of
//! figures, examples of headers, forms of keys, dates.

use crate::names::{pascal, shouty, snake, type_name};
use crate::node::Node;
use crate::schemas::Reader;
use serde_json::Value;

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Its value.
    pub value: String,
}

/// A table of `info`: objects with the same members, each an integer that is not negative, or
/// `null`.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name of the enum of its rows.
    pub name: String,
    /// The field of `info`.
    pub key: String,
    /// Variants and names of the rows.
    pub rows: Vec<(String, String)>,
    /// Names in Rust and in the document of the columns, with a value for each row.
    pub columns: Vec<(String, String, Vec<Option<u32>>)>,
}

/// The constants of this document.
pub fn constants(reader: &mut Reader<'_>) -> Vec<Constant> {
    let root = reader.root.clone();
    let constant = |name: &str, about: &str, value: &str| Constant {
        name: name.to_string(),
        about: about.to_string(),
        value: value.to_string(),
    };
    let info = |key: &str| root.at(&["info"]).and_then(|info| info.text(key)).unwrap_or_default();
    let mut constants = vec![
        constant("TITLE", "`info.title`.", info("title")),
        constant("VERSION", "`info.version`.", info("version")),
        constant("BASE_PATH", "The path in which every server's URL ends.", &base_path(&root)),
    ];
    let named = |reader: &mut Reader<'_>, node: &Node<'_>, name: String, about: String| {
        let value = node.value.as_str()?.to_string();
        let name = reader.claim(node, shouty(&name), &name)?;
        Some(Constant { name, about, value })
    };
    for (name, header) in members(&root, &["components", "headers"]) {
        if let Some(example) = header.get("example").filter(|example| example.value.is_string()) {
            let about = format!("The example of the header {name}.");
            constants.extend(named(reader, &example, format!("{name}_example"), about));
        }
    }
    for (name, scheme) in members(&root, &["components", "securitySchemes"]) {
        if let Some(form) = scheme.get("bearerFormat") {
            let about = format!("The form of what {name} sends.");
            constants.extend(named(reader, &form, format!("{name}_bearer_format"), about));
        }
    }
    for (_, path) in members(&root, &["paths"]) {
        for (_, operation) in path.members() {
            if let (Some(id), Some(sunset)) =
                (operation.text("operationId"), operation.get("x-sunset"))
            {
                let about = format!("The day after which {id} may be removed.");
                constants.extend(named(reader, &sunset, format!("{id}_sunset"), about));
            }
        }
    }
    constants
}

/// The tables of `info`.
pub fn tables(reader: &mut Reader<'_>) -> Vec<Table> {
    let root = reader.root.clone();
    let mut tables = Vec::new();
    for (key, node) in members(&root, &["info"]) {
        let rows: Vec<_> = node.members().collect();
        let Some((_, first)) = rows.first().filter(|_| key.starts_with("x-")) else { continue };
        let keys: Vec<&str> = first.members().map(|(key, _)| key).collect();
        let is_row = |row: &Node<'_>| {
            row.members().map(|(key, _)| key).eq(keys.iter().copied())
                && row
                    .members()
                    .all(|(_, figure)| figure.value.is_null() || figure_of(figure.value).is_some())
        };
        if keys.is_empty() || !rows.iter().all(|(_, row)| is_row(row)) {
            continue;
        }
        let name = key.trim_start_matches("x-");
        let Some(name) = reader.claim(&node, type_name(name), key) else { continue };
        let row_name = |(row, _): &(&str, Node<'_>)| Some((pascal(row)?, row.to_string()));
        let column = |column: &&str| {
            let values = rows.iter().map(|(_, row)| row.value.get(*column).and_then(figure_of));
            Some((snake(column)?, column.to_string(), values.collect()))
        };
        tables.push(Table {
            name,
            key: key.to_string(),
            rows: rows.iter().filter_map(row_name).collect(),
            columns: keys.iter().filter_map(column).collect(),
        });
    }
    tables
}

fn figure_of(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|figure| u32::try_from(figure).ok())
}

fn members<'a>(root: &Node<'a>, path: &[&str]) -> Vec<(&'a str, Node<'a>)> {
    root.at(path).iter().flat_map(Node::members).collect()
}

/// The path of the first server, if all have the same.
pub fn base_path(root: &Node<'_>) -> String {
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
