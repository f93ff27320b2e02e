//! What `cargo xtask generate` writes, and what it does not.

use std::fs;
use std::path::Path;
use xtask::generate::generate;
use xtask::repository::{CLIENT_CODE, CLIENT_DOCS, CLIENT_README, DOCUMENT, Repository};

/// A checkout with this document, the client's documentation and nothing else.
fn checkout(document: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in [DOCUMENT, CLIENT_CODE] {
        fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
    }
    fs::write(root.path().join(DOCUMENT), document).unwrap();
    let docs = Repository::here().read(CLIENT_DOCS).unwrap();
    fs::write(root.path().join(CLIENT_DOCS), docs).unwrap();
    root
}

fn real_document() -> String {
    Repository::here().read(DOCUMENT).unwrap()
}

fn run(root: &Path) -> anyhow::Result<String> {
    let mut out = Vec::new();
    generate(&Repository::at(root), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn writes_the_client_and_nothing_else() {
    let (real, document) = (Repository::here(), real_document());
    let root = checkout(&document);
    assert!(run(root.path()).unwrap().starts_with("Wrote api/client/src/generated.rs"));
    let again = run(root.path()).unwrap();
    assert_eq!(again.lines().filter(|line| line.contains("is already")).count(), 2, "{again}");

    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
    assert_eq!(read(CLIENT_CODE), real.read(CLIENT_CODE).unwrap());
    assert_eq!(read(CLIENT_README), real.read(CLIENT_README).unwrap());
    assert_eq!(read(DOCUMENT), document);
    let header: String = read(CLIENT_CODE).lines().take(2).collect();
    assert!(header.contains("cargo xtask generate") && header.contains(DOCUMENT), "{header}");
}

#[test]
fn writes_nothing_from_a_broken_document() {
    let doubled = real_document().replacen(
        "\"openapi\": \"3.0.3\",",
        "\"openapi\": \"3.0.3\",\n  \"openapi\": \"3.0.3\",",
        1,
    );
    for (document, message) in [
        ("{", "spec/openapi.json:1:1: invalid JSON"),
        ("{}", "is not an OpenAPI 3.0 document"),
        (doubled.as_str(), "is not in canonical form"),
    ] {
        let root = checkout(document);
        let error = format!("{:#}", run(root.path()).unwrap_err());
        assert!(error.contains(message), "{error}");
        assert!(!root.path().join(CLIENT_CODE).exists());
    }
    let error = format!("{:#}", run(Path::new("/nowhere")).unwrap_err());
    assert!(error.starts_with("cannot read spec/openapi.json: "), "{error}");
}
