//! Generates a progenitor client for each document, and one file with the extensible enums of all
//! documents. Handwritten code in `api/client/src` wraps the clients.

mod for_rust;
mod progenitor;
mod requests;
mod values;

use crate::{Error, format, header};
use for_rust::{ERROR, prepare_document};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Stands for the document's path in the first line of a file that is generated from all documents.
pub const ALL: &str = "all documents";

#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    pub document: &'a Value,
    /// The path of the document, for the first line of the generated file and for refusals.
    pub source: &'a str,
    /// The name of the generated module, such as `v1`.
    pub module: &'a str,
}

#[derive(Debug)]
pub struct ClientCode {
    /// The client's file for each version, in the order of [`client`]'s argument `versions`.
    pub versions: Vec<String>,
    /// The file with the extensible enums, merged from all versions.
    pub values: String,
    /// The parent file, which declares the other files as modules and lists the versions.
    pub modules: String,
}

/// Generates the client's code. All versions use the id types and the error body of the first
/// version, so callers can pass an id between versions.
pub fn client(versions: &[Version<'_>], command: &str) -> Result<ClientCode, Error> {
    let (mut files, mut shared) = (Vec::new(), BTreeMap::new());
    for Version { document, source, module } in versions {
        let input = prepare_document(document);
        let code = progenitor::generate_client(&input, &shared).map_err(|mut refusals| {
            for refusal in &mut refusals.0 {
                refusal.pointer = format!("{source}#{}", refusal.pointer);
            }
            refusals
        })?;
        if shared.is_empty() {
            let names = input.identifiers.into_iter().chain([ERROR.to_string()]);
            let path = |name: &String| format!("crate::generated::{module}::types::{name}");
            shared = names.map(|name| (name.clone(), path(&name))).collect();
        }
        let about = "//! Progenitor's client, which sends the requests, and a request type for \
                     each operation.\n\n";
        files.push(format::format(&(header(source, command) + about + &code))?);
    }
    let values = header(ALL, command) + &values::values(versions)?;
    let modules = format::format(&modules(versions, command))?;
    Ok(ClientCode { versions: files, values: format::format(&values)?, modules })
}

fn modules(versions: &[Version<'_>], command: &str) -> String {
    let modules: Vec<_> = versions.iter().map(|version| version.module).collect();
    let about = "//! A progenitor client for each document, and the extensible enums of all \
                 documents.\n\n";
    let mut code = header(ALL, command) + about;
    for module in &modules {
        let _ = writeln!(
            code,
            "#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = \
             \"generated\")]\npub(crate) mod {module};"
        );
    }
    let paths = modules.iter().map(|module| format!("/{module}"));
    let paths = paths.collect::<Vec<_>>().join(" or ");
    code + &format!(
        "pub(crate) mod values;\n\n\
         /// The versions of the API. A base URL may end in one of them.\n\
         pub(crate) const VERSIONS: [&str; {}] = {modules:?};\n\n\
         /// The possible endings of a base URL, as a literal for `concat!`.\n\
         macro_rules! version_paths {{ () => {{ \"{paths}\" }} }}\n\
         pub(crate) use version_paths;\n",
        modules.len()
    )
}
