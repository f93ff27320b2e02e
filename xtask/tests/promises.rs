//! Tests which new version and which changelog entries `check` demands for a changed document. Also
//! tests how long a published version must still be served.

use crate::checkout::{self, printed};
use codegen::pointer::put;
use serde_json::{Value, json};
use testbed::{assert_text, str};
use xtask::check::{Fix, Problem, check_promises, check_served};
use xtask::compatibility::operation_names;
use xtask::documents::{Document, V1, V2};
use xtask::published::Published;

fn document(version: &str) -> Value {
    document_of(&V1, version)
}

fn document_of(of: &Document, version: &str) -> Value {
    let mut document = checkout::document(of);
    *document.pointer_mut("/info/version").unwrap() = json!(version);
    document
}

fn today() -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(2027, 6, 1).unwrap()
}

/// Applies `change` to the document of `/v1`, with `version` as its `info.version`, and returns the
/// problems. The unchanged document is published as 1.4.0.
fn problems(version: &str, change: Option<(&str, Value)>, changelog: &str) -> Vec<Problem> {
    since(&V1, &document("1.4.0"), &changed(document(version), change), changelog)
}

fn changed(mut document: Value, change: Option<(&str, Value)>) -> Value {
    if let Some((pointer, value)) = change {
        put(&mut document, pointer, value).unwrap();
    }
    document
}

fn beta_v2(version: &str) -> Value {
    let mut document = document_of(&V2, version);
    for path in document["paths"].as_object_mut().unwrap().values_mut() {
        for operation in path.as_object_mut().unwrap().values_mut() {
            operation["x-stability"] = json!("beta");
        }
    }
    document
}

/// Returns the problems of `document`. Three documents are published: 1.3.0, 2.0.0-beta.1 and
/// `published`.
fn since(of: &Document, published: &Value, document: &Value, changelog: &str) -> Vec<Problem> {
    let others = [("1.3.0", document_of(&V1, "1.3.0")), ("2.0.0-beta.1", beta_v2("2.0.0-beta.1"))]
        .into_iter();
    let version = published["info"]["version"].as_str().unwrap();
    let files = others.chain([(version, published.clone())]);
    let files = files
        .map(|(version, document)| (format!("{version}.json"), document.to_string().into_bytes()));
    let published = Published { files: files.collect() };
    check_promises(of, document, &published, changelog, today()).unwrap()
}

fn problem(problems: &[Problem], place: &str) -> Problem {
    problems.iter().find(|problem| problem.place.ends_with(place)).unwrap().clone()
}

const VERSION: &str = "#/info/version";
const CHANGELOG: &str = "CHANGELOG.md";

fn breaking() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/properties/quantity", json!({ "type": "string" })))
}

fn addition() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/properties/colour", json!({ "type": "string" })))
}

fn rewording() -> Option<(&'static str, Value)> {
    Some(("/components/schemas/Order/description", json!("One order.")))
}

type Change = fn() -> Option<(&'static str, Value)>;

#[test]
fn the_version_fits_the_changes_since_the_published_one() {
    let unchanged: Change = || None;
    let breaks = "2.0.0 or later, because of a breaking change since 1.4.0";
    let wrong_form = "three numbers, such as";
    let rows: &[(Change, &str, &str)] = &[
        (unchanged, "1.4.0", ""),
        (unchanged, "1.5.0", ""),
        (unchanged, "1.3.9", "1.4.0 or later, because 1.4.0 is published"),
        (unchanged, "1.5", wrong_form),
        (unchanged, "1.5.0-rc.1", wrong_form),
        (unchanged, "1.5.0-beta.1", wrong_form),
        (unchanged, "next", wrong_form),
        (rewording, "1.4.1", ""),
        (rewording, "1.4.0", "1.4.1 or later, because of a change since 1.4.0"),
        (addition, "1.5.0", ""),
        (addition, "1.4.1", "1.5.0 or later, because of an addition since 1.4.0"),
        (breaking, "2.0.0", ""),
        (breaking, "1.4.0", breaks),
        (breaking, "1.4.1", breaks),
        (breaking, "1.5.0", breaks),
        (breaking, "1.99.0", breaks),
    ];
    for &(change, version, expected) in rows {
        let problems = problems(version, change(), "");
        let low_version = problems.iter().find(|problem| problem.place.ends_with(VERSION));
        let message = low_version.map_or("", |problem| &problem.expected);
        let fits = message.starts_with(expected) && message.is_empty() == expected.is_empty();
        assert!(fits, "{version}, {:?}: {message}", change());
    }
    // `--fix` does not raise a version that is below the published one, because the document may
    // lack published changes.
    let low_version = problem(&problems("1.3.9", addition(), ""), VERSION);
    let fix = "take what spec/published/1.4.0.json has, or set info.version to 1.5.0";
    assert_eq!(low_version.fix, Fix::ByHand(fix.to_string()));
}

#[test]
fn the_changelog_names_an_addition_under_its_version() {
    let named = "# Changelog\n\n## 1.5.0\n\n- An order has its `Order.colour`.\n";
    assert_eq!(problems("1.5.0", addition(), named), []);
    for changelog in [
        "",
        "## 1.5.0\n\n- More.\n",
        "## Planned: 1.5.0\n\n- `Order.colour`\n",
        "## 1.5.0\n\n- `colour` of `Order`\n",
    ] {
        let missing = problem(&problems("1.5.0", addition(), changelog), CHANGELOG);
        let expected = "under \"## 1.5.0\", each of these names between backticks";
        assert_eq!(missing.expected, expected, "{changelog}");
    }
}

#[test]
fn a_breaking_change_requires_a_major_version_and_an_entry() {
    let entry = |version: &str| format!("## {version}\n\n- `Order.quantity` is a string.\n");
    assert_eq!(problems("2.0.0", breaking(), &entry("2.0.0")), []);
    assert_text(
        &printed(&problems("1.5.0", breaking(), &entry("1.5.0"))),
        str![[r###"
spec/openapi.json#/info/version
  expected: 2.0.0 or later, because of a breaking change since 1.4.0
  found:    1.5.0
  - `Order.quantity` `type` changed from "integer" to "string" (/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/quantity/type)
  fix: undo the change here, and make it in a new version: "To add a version" in xtask/README.md. The next free version is v3
CHANGELOG.md
  expected: under "## 2.0.0", each of these names between backticks
  found:    absent
  - breaking: `Order.quantity` `type` changed from "integer" to "string" (/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/quantity/type)
  fix: first fix info.version, then edit CHANGELOG.md
"###]],
    );
}

#[test]
fn a_breaking_change_passes_in_a_beta_and_fails_in_the_stable_version() {
    let breaking_changes: [(&str, Value); 5] = [
        ("/components/schemas/Order/properties/quantity", json!({ "type": "string" })),
        ("/components/schemas/Order/required", json!(["id"])),
        ("/components/responses/Unauthorized/content", json!({})),
        (
            "/paths/~1store~1orders~1{orderId}/delete/parameters/0/schema",
            json!({ "type": "boolean" }),
        ),
        ("/paths/~1store~1orders/get/responses", json!({ "204": { "description": "No body" } })),
    ];
    for change in breaking_changes {
        let version_problem = |of: &Document, published: Value, document: Value| {
            let document = changed(document, Some(change.clone()));
            let problems = since(of, &published, &document, "");
            assert!(problems.iter().any(|problem| problem.place == CHANGELOG), "{problems:?}");
            problems.into_iter().find(|problem| problem.place.ends_with(VERSION))
        };
        let stable = version_problem(&V1, document("1.4.0"), document("1.5.0")).unwrap();
        let expected = "2.0.0 or later, because of a breaking change since 1.4.0";
        assert_eq!(stable.expected, expected);
        let beta = beta_v2("2.0.0-beta.1");
        let next = version_problem(&V2, beta.clone(), beta_v2("2.0.0-beta.2"));
        assert_eq!(next, None, "{change:?}");
        let same = version_problem(&V2, beta.clone(), beta).unwrap();
        let expected = "2.0.0-beta.2 or later, because of a change of a beta since 2.0.0-beta.1";
        assert_eq!(same.expected, expected);
    }
}

#[test]
fn a_stable_version_may_not_break_and_has_no_beta_number() {
    let stable_v2 = |version| document_of(&V2, version);
    let names = operation_names(&stable_v2("2.0.0"));
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let entry = &format!("## 2.0.0\n\n- {} are stable.\n", names.join(", "));
    let beta = beta_v2("2.0.0-beta.1");
    assert_eq!(since(&V2, &beta, &stable_v2("2.0.0"), entry), []);
    let invalid = problem(&since(&V2, &beta, &stable_v2("2.0.0-beta.2"), ""), VERSION);
    assert!(invalid.expected.starts_with("three numbers, such as"), "{invalid:?}");

    let broken = changed(stable_v2("2.1.0"), breaking());
    let low_version = problem(&since(&V2, &stable_v2("2.0.0"), &broken, ""), VERSION);
    assert!(low_version.expected.starts_with("3.0.0 or later, "), "{low_version:?}");
    let low_version = problem(&since(&V2, &stable_v2("2.0.0"), &beta_v2("2.1.0"), ""), VERSION);
    assert!(low_version.expected.starts_with("3.0.0 or later, "), "{low_version:?}");
}

#[test]
fn a_change_of_a_shared_component_is_reported_once() {
    let hint = ("/components/schemas/Error/properties/hint", json!({ "type": "string" }));
    let problems = problems("1.4.0", Some(hint), "");
    assert_eq!(problems.len(), 2, "version and changelog: {problems:?}");
    for Problem { reasons, .. } in problems {
        let lines = reasons.iter().filter(|line| line.contains("`Error.hint` is a new field"));
        assert_eq!(lines.count(), 1, "{reasons:?}");
    }
}

#[test]
fn a_published_version_is_served_until_all_its_operations_may_be_removed() {
    let published_with_sunsets = |deprecated: &[&str]| {
        let mut document = document("1.4.0");
        for path in document["paths"].as_object_mut().unwrap().values_mut() {
            for operation in path.as_object_mut().unwrap().values_mut() {
                if deprecated.contains(&operation["operationId"].as_str().unwrap()) {
                    operation["deprecated"] = json!(true);
                    operation["x-sunset"] = json!("2027-12-01");
                }
            }
        }
        let files = [("1.4.0.json", document), ("2.0.0-beta.1.json", beta_v2("2.0.0-beta.1"))];
        let files =
            files.map(|(name, document)| (name.to_string(), document.to_string().into_bytes()));
        Published { files: files.into() }
    };
    let check_paths = |paths: &[&str], published: &Published, day: &str| {
        check_served(paths, published, day.parse().unwrap()).unwrap()
    };
    let real = document("1.4.0");
    let paths = real["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let all: Vec<_> =
        operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    let (stays, deprecated) = all.split_last().unwrap();
    let published = published_with_sunsets(deprecated);
    assert_eq!(check_paths(&["/v1", "/v2"], &published, "2027-06-01"), []);
    // Version 2 was published only as a beta, so it may be removed.
    assert_eq!(check_paths(&["/v1"], &published, "2027-06-01"), []);
    for (day, kept) in [("2027-12-01", all.join(", ").as_str()), ("2027-12-02", stays)] {
        // Version 1's document either has another base path, `/v3`, or is missing.
        for paths in [["/v3", "/v2"].as_slice(), &["/v2"]] {
            let problems = check_paths(paths, &published, day);
            let [Problem { place, expected, .. }] = problems.as_slice() else {
                panic!("{problems:?}")
            };
            assert_eq!(place, "spec/published/1.4.0.json");
            assert_eq!(*expected, format!("a document with {kept} under /v1"));
        }
    }
    let all = published_with_sunsets(&all);
    assert_eq!(check_paths(&["/v2"], &all, "2027-12-02"), []);
}
