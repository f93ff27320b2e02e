//! What `cargo xtask generate` writes, and what it does not.

use crate::checkout::Checkout;
use std::fs;
use std::path::Path;
use store_orders_api::documents::V1;
use xtask::generate::generate;
use xtask::repository::{CLIENT_DOCS, CLIENT_README, CLIENTS, Repository};

/// A checkout with the documents, of which the first is this one, what the clients have by hand,
/// and nothing generated.
fn checkout(document: &str) -> Checkout {
    let by_hand = CLIENTS.iter().flat_map(|client| [client.document, client.operations]);
    let checkout = Checkout::with(&by_hand.chain([CLIENT_DOCS]).collect::<Vec<_>>());
    checkout.put(V1.file, document);
    checkout
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
    assert!(run(root.repository.root()).unwrap().starts_with("Wrote api/client/src/generated.rs"));
    let again = run(root.repository.root()).unwrap();
    assert_eq!(again.lines().filter(|line| line.contains("is already")).count(), 3, "{again}");

    let read = |name: &str| fs::read_to_string(root.repository.root().join(name)).unwrap();
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
        let error = format!("{:#}", run(root.repository.root()).unwrap_err());
        assert!(error.contains(message), "{error}");
        assert!(CLIENTS.iter().all(|client| !root.repository.root().join(client.code).exists()));
    }
    let error = format!("{:#}", run(Path::new("/nowhere")).unwrap_err());
    assert!(error.starts_with("cannot read spec/openapi.json: "), "{error}");
}
