//! The version of a document must fit its changes since the published one, and
//! the changelog must name them.

use serde_json::{Value, json};
use xtask::check::{Problem, check_promises, check_served};
use xtask::documents::{Document, V1, V2};
use xtask::published::Published;
use xtask::repository::Repository;

fn document(version: &str) -> Value {
    document_of(&V1, version)
}

fn document_of(of: &Document, version: &str) -> Value {
    let mut document: Value =
        serde_json::from_str(&Repository::here().read(of.file).unwrap()).unwrap();
    *document.pointer_mut("/info/version").unwrap() = json!(version);
    document
}

fn today() -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(2027, 6, 1).unwrap()
}

/// The problems of the real document as this version, with one value set in it,
/// after it was published as 1.4.0.
fn problems(version: &str, change: Option<(&str, Value)>, changelog: &str) -> Vec<Problem> {
    since(&V1, &document("1.4.0"), &changed(document(version), change), changelog)
}

/// The document with one value set in it.
fn changed(mut document: Value, change: Option<(&str, Value)>) -> Value {
    if let Some((pointer, value)) = change {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let members = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        members.insert(key.to_string(), value);
    }
    document
}

/// The problems of a document after the first was published, with one of each other version.
fn since(of: &Document, published: &Value, document: &Value, changelog: &str) -> Vec<Problem> {
    let others = [(&V1, "1.3.0"), (&V2, "2.0.0-beta.1")];
    let others = others.into_iter().map(|(of, version)| (version, document_of(of, version)));
    let own = published["info"]["version"].as_str().unwrap();
    let files = others.chain([(own, published.clone())]);
    let files = files
        .map(|(version, document)| (format!("{version}.json"), document.to_string().into_bytes()));
    let published = Published { files: files.collect(), sums: String::new() };
    check_promises(of, document, &published, changelog, today()).unwrap()
}

/// The problem at this place. There must be one.
fn problem(problems: &[Problem], place: &str) -> Problem {
    problems.iter().find(|problem| problem.place == place).unwrap().clone()
}

const VERSION: &str = "/info/version";
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

#[test]
fn without_a_change_the_version_must_not_fall() {
    assert_eq!(problems("1.4.0", None, ""), []);
    assert_eq!(problems("1.5.0", None, ""), []);
    let found = problem(&problems("1.3.9", None, ""), VERSION);
    assert_eq!(found.details, ["is 1.3.9, but 1.4.0 is already published"]);
}

#[test]
fn a_rewording_requires_a_patch_version() {
    assert_eq!(problems("1.4.1", rewording(), ""), []);
    let found = problem(&problems("1.4.0", rewording(), ""), VERSION);
    assert_eq!(found.details[0], "is 1.4.0; after 1.4.0, any change requires 1.4.1 or later:");
    assert!(found.details[1].ends_with("/description is reworded"), "{found:?}");
}

#[test]
fn an_addition_requires_a_minor_version_and_an_entry() {
    let named = "# Changelog\n\n## 1.5.0\n\n- An order has its `Order.colour`.\n";
    assert_eq!(problems("1.5.0", addition(), named), []);
    let found = problem(&problems("1.4.1", addition(), named), VERSION);
    assert_eq!(found.details[0], "is 1.4.1; after 1.4.0, an addition requires 1.5.0 or later:");
    let change = "`Order.colour` is a new field (/paths/~1store~1orders/get/";
    assert!(found.details[1].starts_with(change), "{found:?}");
    for changelog in [
        "",
        "## 1.5.0\n\n- More.\n",
        "## Planned: 1.5.0\n\n- `Order.colour`\n",
        "## 1.5.0\n\n- `colour` of `Order`\n",
    ] {
        let found = problems("1.5.0", addition(), changelog);
        assert_eq!(found.len(), 1, "{found:?}");
        let Problem { details, fix, .. } = problem(&found, CHANGELOG);
        assert_eq!(details[0], "does not name, between backticks under \"## 1.5.0\":");
        assert!(details[1].starts_with("addition: `Order.colour` is a new field"), "{details:?}");
        assert_eq!(fix, "edit CHANGELOG.md");
    }
}

#[test]
fn a_breaking_change_requires_a_major_version_and_an_entry() {
    let entry = |version: &str| format!("## {version}\n\n- `Order.quantity` is a string.\n");
    assert_eq!(problems("2.0.0", breaking(), &entry("2.0.0")), []);
    for version in ["1.4.0", "1.4.1", "1.5.0", "1.99.0"] {
        let found = problems(version, breaking(), &entry(version));
        let Problem { details, fix, .. } = problem(&found, VERSION);
        assert!(details[0].ends_with("a breaking change requires 2.0.0 or later:"), "{details:?}");
        let change = "`Order.quantity` `type` changed from \"integer\" to \"string\"";
        assert!(details.iter().any(|line| line.starts_with(change)), "{details:?}");
        assert!(fix.starts_with("undo the change, or set info.version to 2.0.0"), "{fix}");
    }
    let found = problem(&problems("2.0.0", breaking(), "## 2.0.0\n\n- Much.\n"), CHANGELOG);
    assert!(found.details[1].starts_with("breaking: `Order.quantity`"), "{found:?}");
}

#[test]
fn a_breaking_change_passes_in_a_beta_and_is_held_in_the_stable_version() {
    let of_both: [(&str, Value); 5] = [
        ("/components/schemas/Order/properties/quantity", json!({ "type": "string" })),
        ("/components/schemas/Order/required", json!(["id"])),
        ("/components/responses/Unauthorized/content", json!({})),
        (
            "/paths/~1store~1orders~1{orderId}/delete/parameters/0/schema",
            json!({ "type": "boolean" }),
        ),
        ("/paths/~1store~1orders/get/responses", json!({ "204": { "description": "No body" } })),
    ];
    for change in of_both {
        let version_problem = |of: &Document, published: &str, version: &str| {
            let published = document_of(of, published);
            let document = changed(document_of(of, version), Some(change.clone()));
            let found = since(of, &published, &document, "");
            assert!(found.iter().any(|problem| problem.place == CHANGELOG), "{found:?}");
            found.into_iter().find(|problem| problem.place == VERSION)
        };
        let held = version_problem(&V1, "1.4.0", "1.5.0").unwrap();
        assert!(
            held.details[0].ends_with("a breaking change requires 2.0.0 or later:"),
            "{held:?}"
        );
        assert_eq!(version_problem(&V2, "2.0.0-beta.1", "2.0.0-beta.2"), None, "{change:?}");
        let same = version_problem(&V2, "2.0.0-beta.1", "2.0.0-beta.1").unwrap();
        assert!(
            same.details[0].ends_with("a change of a beta requires 2.0.0-beta.2 or later:"),
            "{same:?}"
        );
    }
}

/// The document of version 2 as it will be when it is stable.
fn stable_v2(version: &str) -> Value {
    let mut document = document_of(&V2, version);
    for path in document["paths"].as_object_mut().unwrap().values_mut() {
        for operation in path.as_object_mut().unwrap().values_mut() {
            operation["x-stability"] = json!("stable");
        }
    }
    document
}

#[test]
fn what_becomes_stable_may_not_break_and_is_no_beta() {
    let entry = "## 2.0.0\n\n- `listOrders`, `getOrder` and `cancelOrder` are stable.\n";
    let beta = document_of(&V2, "2.0.0-beta.1");
    assert_eq!(since(&V2, &beta, &stable_v2("2.0.0"), entry), []);
    let found = problem(&since(&V2, &beta, &stable_v2("2.0.0-beta.2"), ""), VERSION);
    assert!(found.details[0].starts_with("is not a version of three numbers"), "{found:?}");

    let broken = changed(stable_v2("2.1.0"), breaking());
    let found = problem(&since(&V2, &stable_v2("2.0.0"), &broken, ""), VERSION);
    assert!(found.details[0].ends_with("a breaking change requires 3.0.0 or later:"), "{found:?}");
    let found = problem(&since(&V2, &stable_v2("2.0.0"), &document_of(&V2, "2.1.0"), ""), VERSION);
    assert!(found.details[0].ends_with("a breaking change requires 3.0.0 or later:"), "{found:?}");
}

#[test]
fn a_version_is_three_numbers() {
    for version in ["1.5", "1.5.0-rc.1", "1.5.0-beta.1", "next"] {
        let found = problem(&problems(version, None, ""), VERSION);
        assert!(found.details[0].starts_with("is not a version of three numbers"), "{found:?}");
    }
}

#[test]
fn a_change_of_a_shared_component_is_reported_once() {
    let hint = ("/components/schemas/Error/properties/hint", json!({ "type": "string" }));
    let found = problems("1.4.0", Some(hint), "");
    assert_eq!(found.len(), 2, "version and changelog: {found:?}");
    for Problem { details, .. } in found {
        let lines = details.iter().filter(|line| line.contains("`Error.hint` is a new field"));
        assert_eq!(lines.count(), 1, "{details:?}");
    }
}

#[test]
fn a_published_version_stays_served_until_its_operations_may_go() {
    let ends = |deprecated: &[&str]| {
        let mut document = document("1.4.0");
        for path in document["paths"].as_object_mut().unwrap().values_mut() {
            for operation in path.as_object_mut().unwrap().values_mut() {
                if deprecated.contains(&operation["operationId"].as_str().unwrap()) {
                    operation["deprecated"] = json!(true);
                    operation["x-sunset"] = json!("2027-12-01");
                }
            }
        }
        let files =
            [("1.4.0.json", document), ("2.0.0-beta.1.json", document_of(&V2, "2.0.0-beta.1"))];
        let files =
            files.map(|(name, document)| (name.to_string(), document.to_string().into_bytes()));
        Published { files: files.into(), sums: String::new() }
    };
    let served = |paths: &[&str], published: &Published, day: &str| {
        check_served(paths, published, day.parse().unwrap()).unwrap()
    };
    let published = ends(&["getPet", "listOrders"]);
    assert_eq!(served(&["/v1", "/v2"], &published, "2027-06-01"), []);
    // What was only in beta may go.
    assert_eq!(served(&["/v1"], &published, "2027-06-01"), []);
    for (day, kept) in
        [("2027-12-01", "getPet, listOrders, cancelOrder"), ("2027-12-02", "cancelOrder")]
    {
        // The document of version 1 moved to a base path of its own, or there is none any more.
        for paths in [["/v3", "/v2"].as_slice(), &["/v2"]] {
            let found = served(paths, &published, day);
            let [Problem { place, details, .. }] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(place, "spec/published/1.4.0.json");
            let promised = "no document is served under /v1, which promised: ";
            assert_eq!(details, &[format!("{promised}{kept}")]);
        }
    }
    let all = ends(&["getPet", "listOrders", "cancelOrder"]);
    assert_eq!(served(&["/v2"], &all, "2027-12-02"), []);
}
