//! The parts of the program as a CycloneDX 1.5 document.

use crate::checkout::Checkout;
use crate::crates::{Crate, Id, PROGRAM};
use crate::licences::Runtime;
use anyhow::Context;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The document: the same for the same checkout and parts.
pub fn document(
    checkout: &Checkout,
    crates: &[Crate],
    runtimes: &[Runtime],
) -> anyhow::Result<Value> {
    let (own, others): (Vec<_>, Vec<_>) = crates.iter().partition(|one| one.id.0 == PROGRAM);
    let program = own.first().context("the program is not among its crates")?;
    let known: BTreeSet<&Id> = crates.iter().map(|one| &one.id).collect();
    let mut components: Vec<Value> = others.iter().map(|one| component(one, "library")).collect();
    components.extend(runtimes.iter().map(runtime_component));
    let mut dependencies: Vec<Value> = Vec::new();
    for one in crates {
        // What a macro or a build uses is no part of the program.
        let mut uses: Vec<String> =
            one.uses.iter().filter(|id| known.contains(id)).map(reference).collect();
        if one.id.0 == PROGRAM {
            uses.extend(
                crates.iter().filter(|one| is_embedded(one, crates)).map(|one| reference(&one.id)),
            );
            uses.extend(runtimes.iter().map(runtime_reference));
        }
        dependencies.push(json!({ "ref": reference(&one.id), "dependsOn": uses }));
    }
    dependencies.extend(runtimes.iter().map(|one| json!({ "ref": runtime_reference(one) })));
    let parts = json!([components, dependencies, checkout.commit]);
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": serial_number(&parts.to_string()),
        "version": 1,
        "metadata": {
            "timestamp": checkout.timestamp(),
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist" }] },
            "lifecycles": [{ "phase": "build" }],
            "component": component(program, "application"),
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Whether no crate uses it: it is in the program by the build.
fn is_embedded(one: &Crate, crates: &[Crate]) -> bool {
    one.id.0 != PROGRAM && !crates.iter().any(|other| other.uses.contains(&one.id))
}

fn component(one: &Crate, kind: &str) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_string(), value);
    set("type", json!(kind));
    set("bom-ref", json!(reference(&one.id)));
    set("name", json!(one.id.0));
    set("version", json!(one.id.1));
    if let Some(description) = &one.description {
        set("description", json!(description));
    }
    // Cargo still reads the older way to write OR.
    set("licenses", json!([{ "expression": one.licence.replace('/', " OR ") }]));
    if let Some(checksum) = &one.checksum {
        set("hashes", json!([{ "alg": "SHA-256", "content": checksum }]));
        set("purl", json!(reference(&one.id)));
    }
    if let Some(repository) = &one.repository {
        set("externalReferences", json!([{ "type": "vcs", "url": repository }]));
    }
    Value::Object(fields)
}

fn runtime_component(one: &Runtime) -> Value {
    json!({
        "type": "library",
        "bom-ref": runtime_reference(one),
        "name": one.name,
        "version": one.version,
        "licenses": [{ "expression": one.licence }],
        "purl": runtime_reference(one),
        "externalReferences": [{ "type": "website", "url": one.source }],
    })
}

/// A crate's package URL.
fn reference(id: &Id) -> String {
    format!("pkg:cargo/{}@{}", id.0, id.1.replace('+', "%2B"))
}

fn runtime_reference(one: &Runtime) -> String {
    format!("pkg:generic/{}@{}", one.name, one.version)
}

/// A UUID made of the parts, so that the same parts have the same number.
fn serial_number(parts: &str) -> String {
    let digest: String =
        Sha256::digest(parts).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| digest.get(range).unwrap_or_default().to_string();
    // Version 8 is for values that the maker defines (RFC 9562).
    format!(
        "urn:uuid:{}-{}-8{}-a{}-{}",
        part(0..8),
        part(8..12),
        part(13..16),
        part(17..20),
        part(20..32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, uses: &[&str], checksum: Option<&str>) -> Crate {
        let id = |name: &str| (name.to_string(), "1.0.0+x".to_string());
        Crate {
            id: id(name),
            licence: "MIT/Apache-2.0".to_string(),
            description: None,
            repository: None,
            checksum: checksum.map(str::to_string),
            uses: uses.iter().map(|name| id(name)).collect(),
            directory: std::path::PathBuf::new(),
        }
    }

    #[test]
    fn every_reference_of_a_document_is_in_it() {
        let crates = [
            one(PROGRAM, &["a", "macro"], None),
            one("a", &[], Some("00")),
            one("page", &[], Some("11")),
        ];
        let checkout = Checkout::here().unwrap();
        let document = document(&checkout, &crates, &[]).unwrap();
        let references = |pointer: &str| {
            let list = document.pointer(pointer).and_then(Value::as_array).unwrap().iter();
            list.map(|value| value["bom-ref"].as_str().unwrap().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            references("/components"),
            ["pkg:cargo/a@1.0.0%2Bx", "pkg:cargo/page@1.0.0%2Bx"]
        );
        let program = &document["metadata"]["component"];
        assert_eq!(program["type"], "application");
        let used = &document["dependencies"][0];
        assert_eq!(used["ref"], program["bom-ref"]);
        assert_eq!(used["dependsOn"], json!(references("/components")));
        let licence = &document["components"][0]["licenses"][0]["expression"];
        assert_eq!(licence, "MIT OR Apache-2.0");
        let number = document["serialNumber"].as_str().unwrap();
        assert_eq!(number.len(), "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79".len());
    }
}
