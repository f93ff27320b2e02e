//! The list of documents is the server's, and no tool needs `api` to compile.

use std::process::Command;
use store_orders_api::documents::DOCUMENTS as OF_SERVER;
use xtask::documents::DOCUMENTS;
use xtask::repository::Repository;

#[test]
fn the_documents_are_those_of_the_server() {
    for (ours, server) in DOCUMENTS.iter().zip(OF_SERVER) {
        assert_eq!(
            (ours.file, ours.base_path, ours.path, ours.reference, ours.is_beta),
            (server.file, server.base_path, server.path, server.reference, server.is_beta)
        );
    }
    assert_eq!(DOCUMENTS.len(), OF_SERVER.len());
}

#[test]
fn generate_and_check_run_while_api_does_not_compile() {
    // Of what `cargo xtask` is built from: the default members, with their features unified.
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none"])
        .args(["--invert", "store-orders-api"])
        .current_dir(Repository::here().root())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let depends = |name: &str| tree.lines().any(|line| line.starts_with(&format!("{name} v")));
    assert!(depends("store-orders"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!depends("xtask") && !depends("contract"), "{tree}");
}
