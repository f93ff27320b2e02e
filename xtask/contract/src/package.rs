//! A package of its own with the contract of a document, and a test that holds what it emits
//! against the document.

use crate::workspace::dependencies;
use crate::{Error, File, client, contract, json};
use heck::ToKebabCase;
use serde_json::Value;
use std::io;
use std::path::Path;

/// The runtime that the code leans on.
const RUNTIME: [(&str, &str); 4] = [
    ("src/answer.rs", include_str!("../../../api/runtime/src/answer.rs")),
    ("src/emission.rs", include_str!("../../../api/runtime/src/emission.rs")),
    ("src/parameters.rs", include_str!("../../../api/runtime/src/parameters.rs")),
    ("src/schemas.rs", include_str!("../../../api/runtime/src/schemas.rs")),
];

/// What the package depends on.
const DEPENDENCIES: [&str; 9] = [
    "async-trait",
    "chrono",
    "dropshot",
    "form_urlencoded",
    "http",
    "regex",
    "schemars",
    "serde",
    "serde_json",
];

const ROOT: &str = "//! The contract of a document: implement `contract::Api`, and serve
//! `contract::api_description` with dropshot.

pub mod answer;
pub mod contract;
pub mod emission;
pub mod parameters;
pub mod schemas;
";

const MEMBERS: &str = "members = [\"client\"]\n";

/// The package for the document in this text, of a file of this name; in `client/` that of its
/// client, unless it is left out.
pub fn package(text: &str, source: &str, has_client: bool) -> Result<Vec<File>, Error> {
    let document = json::parse(text)?;
    let command = format!("cargo xtask contract {source}");
    let code = contract(&document, source, &command)?;
    let title = document.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let name = package_name(title);
    let file = |name: &str, text: &str| (name.to_string(), text.to_string());
    let mut files = vec![
        file("Cargo.toml", &(manifest(&name) + if has_client { MEMBERS } else { "" })),
        file("openapi.json", text),
        file("src/lib.rs", ROOT),
        file("src/contract.rs", &code),
        file("tests/document.rs", &test(&name)),
    ];
    if has_client {
        let name = name.replace("contract", "client");
        let client = client::package(&document, source, &name)?.into_iter();
        files.extend(client.map(|(name, text)| (format!("client/{name}"), text)));
    }
    // Their tests are those of this repository.
    let without_tests = |text: &str| text.split("\n#[cfg(test)]").next().map(str::to_string);
    files.extend(
        RUNTIME.iter().filter_map(|(name, text)| Some((name.to_string(), without_tests(text)?))),
    );
    Ok(files)
}

/// Writes the package to a directory that does not exist yet: whole, or not at all.
pub fn write(files: &[File], directory: &Path) -> io::Result<()> {
    if directory.exists() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it exists; name a new directory",
        ));
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let whole = tempfile::Builder::new().prefix(".contract-").tempdir_in(parent)?;
    for (name, text) in files {
        let path = whole.path().join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
    }
    std::fs::rename(whole.path(), directory)?;
    // It is there no more.
    drop(whole.keep());
    Ok(())
}

fn package_name(title: &str) -> String {
    let plain: String = title
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { ' ' })
        .collect();
    let name = plain.to_kebab_case();
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins { format!("{name}-contract") } else { "contract".to_string() }
}

fn manifest(name: &str) -> String {
    let lines = dependencies().lines();
    let is_ours = |line: &&str| DEPENDENCIES.iter().any(|of| line.starts_with(&format!("{of} = ")));
    let dependencies: Vec<&str> = lines.filter(is_ours).collect();
    let json = "serde_json = { version = \"1\", features = [\"preserve_order\"] }";
    let dependencies = dependencies
        .into_iter()
        .map(|line| if line.starts_with("serde_json") { json } else { line });
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\n{}\n\n[workspace]\n",
        dependencies.collect::<Vec<_>>().join("\n")
    )
}

fn test(name: &str) -> String {
    TEST.replace("{library}", &name.replace('-', "_"))
}

const TEST: &str = r#"//! What dropshot emits of the contract is the document.

use serde_json::Value;
use {library}::contract::document;

/// Each place in which two values differ.
fn differences(place: &str, emitted: &Value, expected: &Value, found: &mut Vec<String>) {
    match (emitted, expected) {
        (Value::Object(emitted), Value::Object(expected)) => {
            let keys = emitted.keys().chain(expected.keys().filter(|key| !emitted.contains_key(*key)));
            for key in keys {
                let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (emitted.get(key), expected.get(key)) {
                    (Some(emitted), Some(expected)) => differences(&place, emitted, expected, found),
                    (None, _) => found.push(format!("{place} is not emitted")),
                    (_, None) => found.push(format!("{place} is emitted and not in the document")),
                }
            }
        }
        (Value::Array(emitted), Value::Array(expected)) if emitted.len() == expected.len() => {
            for (index, (emitted, expected)) in emitted.iter().zip(expected).enumerate() {
                differences(&format!("{place}/{index}"), emitted, expected, found);
            }
        }
        // Dropshot writes bounds of numbers with a point.
        (Value::Number(emitted), Value::Number(expected)) if emitted.as_f64() == expected.as_f64() => {}
        _ if emitted == expected => {}
        _ => found.push(format!("{place}: {emitted} is emitted, {expected} is in the document")),
    }
}

#[test]
fn the_contract_emits_the_document() {
    let expected: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    let mut found = Vec::new();
    differences("", &document().unwrap(), &expected, &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
"#;
