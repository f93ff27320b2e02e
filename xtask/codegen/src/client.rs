//! Generates progenitor's client of each document, and the extensible enums of all documents.
//! Handwritten code in `api/client/src` wraps the clients.

mod for_rust;
mod progenitor;
mod requests;
mod values;

use crate::{Error, format, header};
use for_rust::{ERROR, prepare_document};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The source that the first lines name in the files that all versions share.
pub const ALL: &str = "all documents";

#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    pub document: &'a Value,
    /// The path of the document, which the first line of the generated file names.
    pub source: &'a str,
    /// The name of the generated module, such as `v1`.
    pub module: &'a str,
}

#[derive(Debug)]
pub struct ClientCode {
    /// For each version, the code of progenitor's client.
    pub versions: Vec<String>,
    /// The code of the extensible enums of all versions.
    pub values: String,
    /// The file that declares the modules of all versions.
    pub modules: String,
}

/// Generates the files. All versions share the identifier types and the error body of the first
/// version.
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
        let about = "//! Progenitor's client, which each call goes through.\n\n";
        files.push(format::format(&(header(source, command) + about + &code))?);
    }
    let values = header(ALL, command) + &values::values(versions)?;
    let modules = format::format(&modules(versions, command))?;
    Ok(ClientCode { versions: files, values: format::format(&values)?, modules })
}

/// Returns the file that declares the module of each version, and lists the versions.
fn modules(versions: &[Version<'_>], command: &str) -> String {
    let modules: Vec<_> = versions.iter().map(|version| version.module).collect();
    let about = "//! Progenitor's client of each document, and the extensible enums of all \
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
         /// The versions of the API that a base URL may end in.\n\
         pub(crate) const VERSIONS: [&str; {}] = {modules:?};\n\n\
         /// The endings of a base URL, as a literal for messages.\n\
         macro_rules! version_paths {{ () => {{ \"{paths}\" }} }}\n\
         pub(crate) use version_paths;\n",
        modules.len()
    )
}
