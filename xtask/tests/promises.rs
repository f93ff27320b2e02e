//! The version of a document answers to its changes since the published one,
//! and the changelog names them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop here")]

use serde_json::{Value, json};
use xtask::check::{Inputs, check};
use xtask::published::{Published, checksum};
use xtask::repository::Repository;

const KEPT: &str = "✓ spec/openapi.json keeps what spec/published/1.4.0.json promised\n";

fn document() -> Value {
    serde_json::from_str(&Repository::here().read("spec/openapi.json").unwrap()).unwrap()
}

/// What the check says of the real document as this version, with one value put
/// into it, after it was published as 1.4.0.
fn said(version: &str, change: Option<(&str, Value)>, changelog: &str) -> String {
    let mut published = document();
    *published.pointer_mut("/info/version").unwrap() = json!("1.4.0");
    let published = published.to_string().into_bytes();
    let mut document = document();
    *document.pointer_mut("/info/version").unwrap() = json!(version);
    if let Some((pointer, value)) = change {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let members = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        members.insert(key.to_string(), value);
    }
    let sums = format!("{}  1.4.0.json\n", checksum(&published));
    let inputs = Inputs {
        document: Ok(document.to_string()),
        published: Ok(Published { files: [("1.4.0.json".to_string(), published)].into(), sums }),
        changelog: Ok(changelog.to_string()),
        ..Inputs::of(&Repository::here())
    };
    let mut out = Vec::new();
    check(&inputs, &mut out).unwrap();
    let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    let (_, from) = text.split_once("generates: no").unwrap_or(("", text.as_str()));
    let from = from.find("keeps what").map(|at| &from[at - "✓ spec/openapi.json ".len()..]);
    from.unwrap().to_string()
}

fn breaking() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/properties/quantity", json!({ "type": "string" })))
}

fn addition() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/properties/colour", json!({ "type": "string" })))
}

fn words() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/description", json!("One order.")))
}

#[test]
fn no_change_asks_for_nothing() {
    assert!(said("1.4.0", None, "").starts_with(KEPT));
    assert!(said("1.5.0", None, "").starts_with(KEPT));
    let text = said("1.3.9", None, "");
    assert!(text.contains("is 1.3.9, but 1.4.0 is published already\n"), "{text}");
}

#[test]
fn other_words_ask_for_a_patch_version() {
    assert!(said("1.4.1", words(), "").starts_with(KEPT));
    let text = said("1.4.0", words(), "");
    assert!(text.contains("is 1.4.0; after 1.4.0, any change asks for 1.4.1 or later:"), "{text}");
    assert!(text.contains("description is put in other words\n"), "{text}");
}

#[test]
fn an_addition_asks_for_a_minor_version_and_an_entry() {
    let named = "# Changelog\n\n## 1.5.0\n\n- An order says its `colour`.\n";
    assert!(said("1.5.0", addition(), named).starts_with(KEPT));
    let text = said("1.4.1", addition(), named);
    assert!(text.contains("an addition asks for 1.5.0 or later:"), "{text}");
    assert!(text.contains("`colour` is a new field (/paths/~1store~1orders/get/"), "{text}");
    for changelog in [
        "",
        "## 1.5.0\n\n- More.\n",
        "## Planned: 1.5.0\n\n- `colour`\n",
        "## 1.5.0\n\n- `colours`\n",
    ] {
        let text = said("1.5.0", addition(), changelog);
        assert!(text.contains("does not name, between backticks under \"## 1.5.0\":"), "{text}");
        assert!(text.contains("addition: `colour` is a new field"), "{text}");
        assert!(text.contains("mend: edit CHANGELOG.md"), "{text}");
    }
}

#[test]
fn a_breaking_change_fails_short_of_a_major_version() {
    let entry = |version: &str| format!("## {version}\n\n- `quantity` is a text.\n");
    assert!(said("2.0.0", breaking(), &entry("2.0.0")).starts_with(KEPT));
    for version in ["1.4.0", "1.4.1", "1.5.0", "1.99.0"] {
        let text = said(version, breaking(), &entry(version));
        assert!(text.contains("what breaks callers asks for 2.0.0 or later:"), "{text}");
        assert!(text.contains("`quantity` `type` went from \"integer\" to \"string\""), "{text}");
        assert!(
            text.contains("mend: take the changes back, or set info.version to 2.0.0"),
            "{text}"
        );
    }
    let text = said("2.0.0", breaking(), "## 2.0.0\n\n- Much.\n");
    assert!(text.contains("breaking: `quantity`"), "{text}");
}

#[test]
fn a_version_is_three_numbers() {
    for version in ["1.5", "1.5.0-rc.1", "next"] {
        let text = said(version, None, "");
        assert!(text.contains("is no version of three numbers"), "{text}");
    }
}

#[test]
fn one_change_of_a_shared_part_is_said_once() {
    let fault = ("/components/schemas/Error/properties/hint", json!({ "type": "string" }));
    let text = said("1.4.0", Some(fault), "");
    assert_eq!(text.matches("`hint` is a new field").count(), 2, "once a problem: {text}");
}
