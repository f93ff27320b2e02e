//! Progenitor's client of each document. What stands over it is by hand, in `api/client/src`.

mod for_rust;
mod progenitor;

use crate::{Error, format, header};
use for_rust::{ERROR, for_rust};
use serde_json::Value;
use std::collections::BTreeMap;

/// A document that the client speaks.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The document.
    pub document: &'a Value,
    /// Its file, as the first lines name it.
    pub source: &'a str,
    /// The name of its module, such as `v1`.
    pub module: &'a str,
}

/// The code for each of these versions. The identifiers and the body of errors are those of the
/// first version.
pub fn client(versions: &[Version<'_>], command: &str) -> Result<Vec<String>, Error> {
    let (mut files, mut shared) = (Vec::new(), BTreeMap::new());
    for Version { document, source, module } in versions {
        let rust = for_rust(document);
        let code = progenitor::core(&rust, &shared).map_err(|mut refusals| {
            for refusal in &mut refusals.0 {
                refusal.pointer = format!("{source}#{}", refusal.pointer);
            }
            refusals
        })?;
        if shared.is_empty() {
            let names = rust.identifiers.into_iter().chain([ERROR.to_string()]);
            let path = |name: &String| format!("crate::generated::{module}::types::{name}");
            shared = names.map(|name| (name.clone(), path(&name))).collect();
        }
        let about = "//! Progenitor's client, which each call goes through.\n\n";
        files.push(format::format(&(header(source, command) + about + &code))?);
    }
    Ok(files)
}
