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

/// A version of the API, with its document.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The OpenAPI document, parsed.
    pub document: &'a Value,
    /// The document's file, for the first lines of the code.
    pub source: &'a str,
    /// The name of the generated module, such as `v1`.
    pub module: &'a str,
}

/// The generated files of a client.
#[derive(Debug)]
pub struct ClientCode {
    /// Progenitor's client of each version.
    pub versions: Vec<String>,
    /// The extensible enums of all versions.
    pub values: String,
}

/// Generates the code. All versions share the identifier types and the error body of the first
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
    let sources: Vec<_> = versions.iter().map(|version| version.source).collect();
    let values = header(&sources.join(" and "), command) + &values::values(versions)?;
    Ok(ClientCode { versions: files, values: format::format(&values)? })
}
