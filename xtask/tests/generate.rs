//! What `cargo xtask generate` writes, and what it does not.

use std::fs;
use std::path::Path;
use store_orders_api::documents::V1;
use xtask::generate::generate;
use xtask::repository::{CLIENT_DOCS, CLIENT_README, CLIENTS, Repository};

/// A checkout with the documents, of which the first is this one, the client's documentation and
/// nothing else.
fn checkout(document: &str) -> tempfile::TempDir {
    let (root, real) = (tempfile::tempdir().unwrap(), Repository::here());
    for client in &CLIENTS {
        for name in [client.document, client.code] {
            fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
        }
        let document = real.read(client.document).unwrap();
        fs::write(root.path().join(client.document), document).unwrap();
    }
    fs::write(root.path().join(V1.file), document).unwrap();
    fs::write(root.path().join(CLIENT_DOCS), real.read(CLIENT_DOCS).unwrap()).unwrap();
    root
}

fn real_document() -> String {
    Repository::here().read(V1.file).unwrap()
}

fn run(root: &Path) -> anyhow::Result<String> {
    let mut out = Vec::new();
    generate(&Repository::at(root), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn writes_the_clients_and_nothing_else() {
    let (real, document) = (Repository::here(), real_document());
    let root = checkout(&document);
    assert!(run(root.path()).unwrap().starts_with("Wrote api/client/src/generated.rs"));
    let again = run(root.path()).unwrap();
    assert_eq!(again.lines().filter(|line| line.contains("is already")).count(), 3, "{again}");

    let read = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
    assert_eq!(read(CLIENT_README), real.read(CLIENT_README).unwrap());
    assert_eq!(read(V1.file), document);
    for client in &CLIENTS {
        let code = read(client.code);
        assert_eq!(code, real.read(client.code).unwrap());
        let header: String = code.lines().take(2).collect();
        assert!(header.contains("cargo xtask generate"), "{header}");
        assert!(header.contains(client.document), "{header}");
    }
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
        assert!(CLIENTS.iter().all(|client| !root.path().join(client.code).exists()));
    }
    let error = format!("{:#}", run(Path::new("/nowhere")).unwrap_err());
    assert!(error.starts_with("cannot read spec/openapi.json: "), "{error}");
}
