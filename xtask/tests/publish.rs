//! Checks what `cargo xtask publish` writes and refuses, and what `cargo xtask check` then reports
//! about published documents.

use crate::checkout::{Checkout, document, emitted, files, plain, published_problems, version};
use std::fs;
use store_orders_api::API_VERSION as VERSION;
use testbed::{assert_text, str};
use xtask::Outcome;
use xtask::compatibility::operation_names;
use xtask::documents::{DOCUMENTS, Document, V1, V2};
use xtask::evidence::Condition;
use xtask::publish::publish;
use xtask::published::PUBLISHED;
use xtask::repository::{CHANGELOG, Repository};

/// Creates a checkout with the real documents and clients, in which nothing is published.
fn checkout() -> Checkout {
    let checkout = Checkout::with(&files());
    let entry = |source: &Document| {
        let names = operation_names(&document(source)).join("`, `");
        format!("## {}\n\n- `{names}`\n\n", version(source))
    };
    checkout.put(CHANGELOG, &DOCUMENTS.into_iter().map(entry).collect::<String>());
    checkout
}

fn run(checkout: &Checkout) -> (Outcome, String) {
    let mut out = Vec::new();
    let outcome = publish(&checkout.repository, emitted, &[], &mut out).unwrap();
    (outcome, plain(&out))
}

fn published_file() -> String {
    format!("{VERSION}.json")
}

#[test]
fn publishes_the_exact_bytes_once() {
    let root = checkout();
    let (outcome, text) = run(&root);
    assert_eq!(outcome, Outcome::Clean, "{text}");
    assert!(text.contains("nothing is published yet"), "{text}");
    let line = |source: &Document| {
        let version = version(source);
        format!("Published spec/published/{version}.json. Commit it.\n")
    };
    assert!(text.ends_with(&DOCUMENTS.map(line).concat()), "{text}");
    let read =
        |name: &str| fs::read_to_string(root.repository.root().join(PUBLISHED).join(name)).unwrap();
    for source in DOCUMENTS {
        let name = format!("{}.json", version(source));
        assert_eq!(read(&name), Repository::here().read(source.file).unwrap());
    }

    let (outcome, text) = run(&root);
    assert_eq!(outcome, Outcome::Drift);
    let versions = DOCUMENTS.map(version).join(", ");
    let refusal =
        format!("Nothing was published: already published, and cannot change: {versions}.\n");
    assert!(text.ends_with(&refusal), "{text}");
    assert_eq!(read(&published_file()), Repository::here().read(V1.file).unwrap());
}

#[test]
fn publishes_one_document_alone() {
    let root = checkout();
    assert_eq!(run(&root).0, Outcome::Clean);
    fs::remove_file(root.repository.root().join(PUBLISHED).join(format!("{}.json", version(&V2))))
        .unwrap();
    let (outcome, text) = run(&root);
    assert_eq!(outcome, Outcome::Clean, "{text}");
    let published: Vec<_> = text.lines().filter(|line| line.starts_with("Published")).collect();
    assert_eq!(published.len(), 1, "{text}");
    assert!(published[0].contains(&version(&V2)), "{text}");
}

#[test]
fn publishes_nothing_without_a_section_that_names_the_operations() {
    let heading = format!("## {VERSION}");
    for (from, to, message) in [
        (heading.as_str(), "## 0.9.0".to_string(), format!("has no heading \"{heading}\"")),
        (&heading, format!("{heading}\n\n## 0.9.0"), "says nothing under".to_string()),
        ("`cancelOrder`", "cancelOrder".to_string(), "does not name cancelOrder".to_string()),
    ] {
        let root = checkout();
        root.replace(CHANGELOG, from, &to);
        let (outcome, text) = run(&root);
        assert_eq!(outcome, Outcome::Drift);
        assert!(text.contains(&message), "{text}");
        assert!(!root.repository.root().join(PUBLISHED).exists());
    }
}

#[test]
fn publishes_nothing_if_the_check_fails() {
    let root = checkout();
    root.replace(V1.file, "Orders returned", "All orders");
    let (outcome, text) = run(&root);
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.ends_with("Nothing was published: fix the above first.\n"), "{text}");
    assert!(!root.repository.root().join(PUBLISHED).exists());
}

#[test]
fn publishes_nothing_unless_each_condition_holds() {
    let root = checkout();
    let mut out = Vec::new();
    let conditions: [Condition; 2] =
        [|_| Ok(Vec::new()), |_| Ok(vec!["listOrders 418 was never seen".to_string()])];
    let outcome = publish(&root.repository, emitted, &conditions, &mut out).unwrap();
    assert_eq!(outcome, Outcome::Drift);
    let text = plain(&out);
    let reason = "Nothing was published:\n  listOrders 418 was never seen\n";
    assert!(text.ends_with(reason), "{text}");
    assert!(!root.repository.root().join(PUBLISHED).exists());
}

#[test]
fn a_file_that_is_not_a_published_document_is_found() {
    let root = checkout();
    assert_eq!(run(&root).0, Outcome::Clean);
    fs::write(root.repository.root().join(PUBLISHED).join("notes.md"), "").unwrap();
    assert_text(
        &published_problems(root.check()),
        str![[r#"
  spec/published/notes.md
    expected: absent
    found:    a file that is not a published document
    fix: git rm spec/published/notes.md; only `cargo xtask publish` writes there
"#]],
    );
}
