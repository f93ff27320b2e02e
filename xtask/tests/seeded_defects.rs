//! Makes changes that a person could make to a document by mistake. For each change, `check` must
//! report the changed place, and why the change is not allowed.

use crate::checkout::{
    Checkout, document, emitted, failures, files, printed, run, run_fix, version,
};
use codegen::pointer::take;
use serde_json::{Value, json};
use testbed::{Inline, assert_text, str};
use xtask::Outcome;
use xtask::check::{Inputs, check_major_version};
use xtask::documents::{DOCUMENTS, Document, V1, V2};
use xtask::generate::client_code;
use xtask::published::PUBLISHED;
use xtask::repository::{CHANGELOG, Repository};

/// Runs the checks on a checkout in which `change` has changed version 1's document. The checkout
/// has newly generated code, so that `check` does not report outdated code.
fn check_with(change: impl Fn(&mut Value)) -> (Outcome, String) {
    check(&checkout_with(change), None)
}

/// Creates a checkout in which `change` has changed version 1's document since the last
/// publication. The generated code matches the changed document.
fn checkout_with(change: impl Fn(&mut Value)) -> Checkout {
    let published = Repository::here().files(PUBLISHED).unwrap();
    let checkout = Checkout::with(&files());
    for (name, text) in published {
        checkout.put(&format!("{PUBLISHED}/{name}"), &String::from_utf8(text).unwrap());
    }
    for of in DOCUMENTS {
        let text = checkout.repository.read(of.file).unwrap();
        checkout.put(&format!("{PUBLISHED}/{}.json", version(of)), &text);
    }
    let mut document = document(&V1);
    change(&mut document);
    let contract = codegen::server(&document, V1.file, "cargo xtask generate").unwrap();
    checkout.put(V1.contract, &contract);
    let mut documents = DOCUMENTS.map(crate::checkout::document);
    documents[0] = document.clone();
    for file in client_code(&documents).unwrap() {
        checkout.put(&file.name, &file.text);
    }
    checkout.put(V1.file, &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
    checkout
}

/// Returns the inputs of a check, as if the compiled contract emitted the changed document.
fn inputs(checkout: &Checkout) -> Inputs {
    Inputs::read(&checkout.repository, |repository| {
        let mut documents = emitted(repository);
        documents[0] = Ok(serde_json::from_str(&repository.read(V1.file).unwrap()).unwrap());
        documents
    })
}

/// Checks a checkout with [`inputs`] as if today were `day`. With `None`, today is the real date.
fn check(checkout: &Checkout, day: Option<&str>) -> (Outcome, String) {
    let mut inputs = inputs(checkout);
    if let Some(day) = day {
        inputs.today = day.parse().unwrap();
    }
    run(&inputs)
}

#[track_caller]
fn assert_failures(change: impl Fn(&mut Value), expected: Inline) {
    assert_text(&failures(check_with(change)), expected);
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    *document.pointer_mut(pointer).unwrap() = value;
}

#[test]
fn a_type_changes_under_the_next_major_version_but_the_old_path() {
    let text = |document: &mut Value| {
        set(document, "/components/schemas/Order/properties/quantity/type", json!("string"));
        set(document, "/info/version", json!("3.0.0"));
    };
    assert_failures(
        text,
        str![[r###"
Drift
✗ the documents in spec keep what V1.json and V2.json of spec/published promised
  CHANGELOG.md
    expected: under "## 3.0.0", each of these names between backticks
    found:    absent
    - breaking: `Order.quantity` `type` changed from "integer" to "string" (/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/quantity/type)
    fix: edit CHANGELOG.md
✗ the major versions of the documents in spec are those of every base URL
  spec/openapi.json#/servers/0/url
    expected: a path that ends in /v3
    found:    https://orders.store.example/v1
    - info.version is 3.0.0
    fix: make the URL end in /v3, or undo the change of info.version to 3.0.0: the path changes with each major version, and with nothing else
...
  api/versions/src/lib.rs
    expected: a path that ends in /v3
    found:    /v1
    - info.version is 3.0.0
    fix: make the name of spec/openapi.json's row end in /v3, or undo the change of info.version to 3.0.0: the path changes with each major version, and with nothing else
✗ the examples of the documents in spec match their schemas
  spec/openapi.json#/paths/~1store~1orders/get/responses/200/content/application~1json/example/0/quantity
    expected: a value that matches the schema: 2 is not of type "string"
    found:    2
    fix: edit the example, or its schema
  spec/openapi.json#/paths/~1store~1orders/get/responses/200/content/application~1json/example/1/quantity
    expected: a value that matches the schema: 1 is not of type "string"
    found:    1
    fix: edit the example, or its schema
6 of 9 checks passed, 3 failed.
"###]],
    );
}

/// An addition requires the next minor version, so `--fix` can set it. Only the changelog entry is
/// left to a person.
#[test]
fn the_version_of_an_addition_is_raised_by_a_fix() {
    let colour = |document: &mut Value| {
        let place = "/components/schemas/Order/properties";
        let properties = document.pointer_mut(place).unwrap().as_object_mut().unwrap();
        properties.insert("colour".to_string(), json!({ "type": "string" }));
    };
    let least: semver::Version = store_orders_api::API_VERSION.parse().unwrap();
    let next = format!("1.{}.0", least.minor + 1);
    assert_text(
        &run_fix(&inputs(&checkout_with(colour))).replace(&next, "V1 + 0.1"),
        str![[r###"
Drift
Wrote spec/openapi.json.
✗ the documents in spec keep what V1.json and V2.json of spec/published promised
  CHANGELOG.md
    expected: under "## V1 + 0.1", each of these names between backticks
    found:    absent
    - addition: `Order.colour` is a new field (/paths/~1store~1orders/get/responses/200/content/application~1json/schema/items/properties/colour)
    fix: edit CHANGELOG.md
Wrote api/src/v1.rs.
Wrote api/client/src/generated/v1.rs.
8 of 9 checks passed, 1 failed.
"###]],
    );
}

/// The code samples are part of the document, so a changed sample requires a new version.
#[test]
fn the_version_of_a_changed_code_sample_is_raised_by_a_fix() {
    let checkout = checkout_with(|_| ());
    checkout.add_server();
    assert_eq!(check(&checkout, None).0, Outcome::Clean);
    checkout.replace("spec/samples/v1/getPet.md", "import json", "import  json");
    let mut next: semver::Version = store_orders_api::API_VERSION.parse().unwrap();
    next.patch += 1;
    assert_text(
        &run_fix(&inputs(&checkout)).replace(&next.to_string(), "V1 + 0.0.1"),
        str![[r###"
Drift
Wrote spec/openapi.json.
Wrote spec/openapi.json.
✗ the documents in spec keep what V1.json and V2.json of spec/published promised
  CHANGELOG.md
    expected: a section "## V1 + 0.0.1", which says what has changed
    found:    absent
    fix: edit CHANGELOG.md
Wrote api/src/v1.rs.
Wrote api/client/src/generated/v1.rs.
Wrote src/http/docs/generated/llms.txt.
Wrote src/http/docs/generated/docs/v1.html.
8 of 9 checks passed, 1 failed.
"###]],
    );
    checkout.replace(
        CHANGELOG,
        "# Changelog",
        &format!("# Changelog\n\n## {next}\n\n- A sample.\n"),
    );
    run_fix(&inputs(&checkout));
    let (outcome, text) = check(&checkout, None);
    assert_eq!(outcome, Outcome::Clean, "{text}");
}

#[test]
fn each_base_url_ends_in_the_major_version() {
    let places = |change: &dyn Fn(&mut Value), source: &Document| {
        let mut document = document(&V1);
        change(&mut document);
        let problems = check_major_version(source, &document);
        problems.into_iter().map(|problem| problem.place).collect::<Vec<_>>()
    };
    assert_eq!(places(&|_| {}, &V1), [""; 0]);
    assert_eq!(places(&|_| {}, &V2), ["api/versions/src/lib.rs"]);
    let path_server = |document: &mut Value| {
        let path = document.pointer_mut("/paths/~1store~1orders").unwrap();
        path["servers"] = json!([{ "url": "https://x.example/v11" }]);
    };
    assert_eq!(
        places(&path_server, &V1),
        ["spec/openapi.json#/paths/~1store~1orders/servers/0/url"]
    );
    let none = |document: &mut Value| drop(take(document, "/servers").unwrap());
    assert_eq!(places(&none, &V1), ["spec/openapi.json#/servers"]);
    let second = |document: &mut Value| {
        for index in 0..2 {
            set(document, &format!("/servers/{index}/url"), json!("https://{host}/v2"));
        }
        set(document, "/info/version", json!("2.0.0"));
    };
    assert_eq!(places(&second, &V2), [""; 0]);

    // There is already a version 2, so version 1 cannot become 2.0.0. A breaking change needs a new
    // document instead.
    let mut document = document(&V1);
    set(&mut document, "/info/version", json!("2.0.0"));
    let problems = printed(&check_major_version(&V1, &document));
    let fix = "fix: undo the change of info.version to 2.0.0, because /v2 is spec/openapi-v2.json: \
               for a breaking change, see \"To add a version\" in xtask/README.md";
    let fixes: Vec<_> = problems.lines().filter(|line| line.contains("fix:")).collect();
    assert!(fixes.len() == 3 && fixes.iter().all(|line| line.trim() == fix), "{problems}");
}

#[test]
fn a_missing_published_version_is_found() {
    let checkout = checkout_with(|_| ());
    let name = "1.1.1.json";
    std::fs::remove_file(checkout.repository.root().join(PUBLISHED).join(name)).unwrap();
    assert_text(
        &failures(check(&checkout, None)),
        str![[r#"
Drift
✗ spec/published is not compared with the history of main, because this is no git checkout
  spec/published/1.1.1.json
    expected: a document, as CHANGELOG.md has its version
    found:    absent
    fix: add the document of that version
8 of 9 checks passed, 1 failed.
"#]],
    );
}
