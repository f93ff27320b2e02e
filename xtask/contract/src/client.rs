//! From documents to the Rust code of their client: progenitor's client, and over it public
//! methods, requests with options, lists in pages, records, codes, twins that block, and the routes
//! of a test server.
//!
//! The code leans on files by hand, which are the same for every document: builder, sending,
//! retries, limits, errors, spans and the frame of the test server, in `api/client/src`.

mod document;
mod errors;
mod for_rust;
mod model;
mod package;
mod progenitor;
mod read;
mod write;

pub use package::package;

use crate::node::Node;
use crate::{Error, File, Refusals, format};
use document::Places;
use errors::Errors;
use for_rust::{ForRust, for_rust};
use model::Operation;
use progenitor::Core;
use read::Source;
use serde_json::Value;
use std::collections::BTreeMap;
use write::Parts;

/// A document that the client speaks.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The document.
    pub document: &'a Value,
    /// Its file, as the first lines name it.
    pub source: &'a str,
    /// The name of its module, such as `v1`.
    pub module: &'a str,
    /// The feature of the crate that has it; none if it is always there.
    pub feature: Option<&'a str>,
}

/// The files of the client of these versions, by their names below `src`. The first is the one
/// that is reached without naming a version; the others share its errors and identifiers. An
/// error names the first document that is refused.
pub fn client(versions: &[Version<'_>], command: &str) -> Result<Vec<File>, Error> {
    Ok(format::format_files(unformatted(versions, command)?.0)?)
}

/// The files, and the code of a test that calls each operation of the first version once.
fn unformatted(versions: &[Version<'_>], command: &str) -> Result<(Vec<File>, String), Error> {
    let documents: Vec<&Value> = versions.iter().map(|version| version.document).collect();
    let Some((main, others)) = versions.split_first() else { return Ok(Default::default()) };
    let mut places = Places::default();
    let errors = Errors::read(&documents, &mut places);
    read::check(&Node::root(main.document), &mut places);
    let errors = accepted(errors, places).map_err(|error| of_version(error, main, versions))?;
    let (mut files, mut shared) = (Vec::new(), BTreeMap::new());
    let mut test = String::new();
    for version in versions {
        let is_main = version.module == main.module;
        let rust = for_rust(version.document, &errors.schema);
        let read = read(version, &rust, &errors, &shared);
        let (core, operations) = read.map_err(|error| of_version(error, version, versions))?;
        if is_main {
            let own = rust.identifiers.iter().chain([&errors.schema]);
            let path = |name: &String| format!("crate::{}::http::types::{name}", main.module);
            shared = own.map(|name| (name.clone(), path(name))).collect();
        }
        let source = source(version, &rust, &core, &errors);
        let others = if is_main { others } else { &[] };
        let parts =
            Parts { version, is_main, others, source, operations, main_module: main.module };
        if is_main {
            test = parts.test();
        }
        for (name, text) in parts.files() {
            files.push((name, header(version.source, command) + &text));
        }
    }
    Ok((files, test))
}

fn read(
    version: &Version<'_>,
    rust: &ForRust,
    errors: &Errors,
    shared: &BTreeMap<String, String>,
) -> Result<(Core, Vec<Operation>), Error> {
    let root = Node::root(version.document);
    let mut places = Places::default();
    read::check(&root, &mut places);
    check_names(&root, rust, errors, &mut places);
    accepted(Some(()), places)?;
    let mut places = Places::default();
    let core = progenitor::core(version, rust, shared)?;
    let operations = source(version, rust, &core, errors).operations(&mut places);
    let operations = accepted(Some(operations), places)?;
    Ok((core, operations))
}

/// An error that names the document, if there are several.
fn of_version(error: Error, version: &Version<'_>, versions: &[Version<'_>]) -> Error {
    match error {
        Error::Refused(mut refusals) if versions.len() > 1 => {
            for refusal in &mut refusals.0 {
                refusal.pointer = format!("{}#{}", version.source, refusal.pointer);
            }
            Error::Refused(refusals)
        }
        other => other,
    }
}

fn source<'a>(
    version: &Version<'a>,
    rust: &'a ForRust,
    core: &'a Core,
    errors: &'a Errors,
) -> Source<'a> {
    Source { root: Node::root(version.document), core, rust, errors }
}

/// Names and values that the client cannot have.
fn check_names(root: &Node<'_>, rust: &ForRust, errors: &Errors, places: &mut Places) {
    let schemas = root.at(&["components", "schemas"]);
    for (name, schema) in schemas.iter().flat_map(Node::members) {
        let is_own = write::is_own(&crate::names::pascal(name).unwrap_or_default());
        if is_own && name != errors.schema {
            places.refuse(
                &schema,
                format!("the client has a {name} of its own"),
                "rename the schema",
            );
        }
    }
    for of in &rust.enums {
        let listed = of.schema.get("x-extensible-enum").and_then(Value::as_array);
        for text in listed.into_iter().flatten() {
            let text = text.as_str().unwrap_or_default();
            if errors::variant(text).is_none() {
                let node = Node { pointer: of.pointer.clone(), value: &of.schema };
                places.refuse_variant(&node, text);
            }
        }
    }
}

fn accepted<T>(value: Option<T>, places: Places) -> Result<T, Error> {
    match value {
        Some(value) if places.0.is_empty() => Ok(value),
        _ => Err(Error::Refused(Refusals(places.0))),
    }
}

fn header(source: &str, command: &str) -> String {
    format!(
        "// @generated by `{command}` from {source}.\n\
         // Do not edit this file: edit the document, then run that command.\n\n"
    )
}
