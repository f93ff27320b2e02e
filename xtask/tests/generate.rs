//! What `cargo xtask generate` writes, and what it leaves alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop here")]

use std::fs;
use std::path::Path;
use xtask::generate::generate;
use xtask::repository::{CLIENT_CODE, DOCUMENT, Repository};

/// A checkout with this document and nothing else.
fn checkout(document: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for name in [DOCUMENT, CLIENT_CODE] {
        fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
    }
    fs::write(root.path().join(DOCUMENT), document).unwrap();
    root
}

fn run(root: &Path) -> anyhow::Result<String> {
    let mut out = Vec::new();
    generate(&Repository::at(root), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn writes_the_client_and_nothing_else() {
    let real = Repository::here();
    let document = real.read(DOCUMENT).unwrap();
    let root = checkout(&document);
    assert!(run(root.path()).unwrap().starts_with("Wrote api/client/src/generated.rs"));
    assert!(run(root.path()).unwrap().contains("is already"));

    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
    assert_eq!(read(CLIENT_CODE), real.read(CLIENT_CODE).unwrap());
    assert_eq!(read(DOCUMENT), document);
    let header: String = read(CLIENT_CODE).lines().take(2).collect();
    assert!(header.contains("cargo xtask generate") && header.contains(DOCUMENT), "{header}");
}

#[test]
fn writes_nothing_from_a_document_that_is_broken() {
    for (document, said) in [
        ("{", "spec/openapi.json:1:1: no valid JSON"),
        ("{}", "is no OpenAPI 3.0 document"),
        (r#"{"openapi":"3.0.3","openapi":"3.0.3"}"#, "the key /openapi stands more than once"),
    ] {
        let root = checkout(document);
        let error = format!("{:#}", run(root.path()).unwrap_err());
        assert!(error.contains(said), "{error}");
        assert!(!root.path().join(CLIENT_CODE).exists());
    }
    let error = format!("{:#}", run(Path::new("/nowhere")).unwrap_err());
    assert!(error.starts_with("cannot read spec/openapi.json: "), "{error}");
}
