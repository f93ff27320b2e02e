//! Changes of the real document against the one published last, as a founder
//! might make them by mistake: `check` finds each, says where and why, and calls
//! it breaking.

use crate::checkout::{Checkout, emitted, files, run};
use contract::pointer::take;
use serde_json::{Value, json};
use xtask::Outcome;
use xtask::check::{Inputs, check_major_version};
use xtask::documents::{Document, V1, V2};
use xtask::generate::client_code;
use xtask::published::{PUBLISHED, SUMS};
use xtask::repository::{CHANGELOG, Repository};

/// What `check` says of the real files with one change of the document, made in
/// the contract in Rust too, so that only the promise to callers is at stake.
fn with(change: impl Fn(&mut Value)) -> (Outcome, String) {
    check(changed(change), None)
}

/// The published documents and the real files with one change of the stable version's document.
fn changed(change: impl Fn(&mut Value)) -> (Checkout, Value) {
    let published = Repository::here().files(PUBLISHED).unwrap();
    let checkout = Checkout::with(&files());
    for (name, text) in published {
        checkout.put(&format!("{PUBLISHED}/{name}"), &String::from_utf8(text).unwrap());
    }
    let mut document: Value =
        serde_json::from_str(&checkout.repository.read(V1.file).unwrap()).unwrap();
    change(&mut document);
    let contract = contract::contract(&document, V1.file, "cargo xtask generate").unwrap();
    checkout.put(V1.contract, &contract);
    let second: Value = serde_json::from_str(&checkout.repository.read(V2.file).unwrap()).unwrap();
    for file in client_code(&[document.clone(), second]).unwrap() {
        checkout.put(&file.name, &file.text);
    }
    checkout.put(V1.file, &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
    (checkout, document)
}

/// The check of it on a day, or today, as if the contract in Rust emitted it.
fn check((checkout, document): (Checkout, Value), day: Option<&str>) -> (Outcome, String) {
    let mut inputs = Inputs::read(&checkout.repository, emitted());
    inputs.emitted[0] = Ok(document);
    if let Some(day) = day {
        inputs.today = day.parse().unwrap();
    }
    run(&inputs)
}

/// The check must fail, for this reason, at this place, and ask for version 2.
fn assert_breaking(change: impl Fn(&mut Value), name: &str, why: &str, place: &str) {
    let (outcome, text) = with(change);
    assert_eq!(outcome, Outcome::Drift, "{text}");
    assert!(text.contains("a breaking change requires 2.0.0 or later:\n"), "{text}");
    let line = text.lines().find(|line| line.trim().starts_with(&format!("`{name}` {why}")));
    assert!(line.is_some_and(|line| line.contains(place)), "{name} {why} {place}: {text}");
    assert!(text.contains("serve it under /v2: change the URLs of the servers"), "{text}");
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    *document.pointer_mut(pointer).unwrap() = value;
}

const CODES: &str = "/components/schemas/Error/properties/code/x-extensible-enum";

const CONFLICT_EXAMPLES: &str = "/paths/~1store~1orders~1{orderId}/delete/responses/409/content/\
                                 application~1json/examples";

#[test]
fn an_error_code_is_renamed() {
    let rename = |document: &mut Value| {
        let codes = document.pointer_mut(CODES).unwrap().as_array_mut().unwrap();
        let code = codes.iter_mut().find(|code| **code == "order_already_shipped").unwrap();
        *code = json!("order_shipped");
        let examples = document.pointer_mut(CONFLICT_EXAMPLES).unwrap().as_object_mut().unwrap();
        let mut example = examples.remove("order_already_shipped").unwrap();
        example["value"]["code"] = json!("order_shipped");
        examples.insert("order_shipped".to_string(), example);
    };
    let why = "is no longer a value of Error.code";
    assert_breaking(rename, "order_already_shipped", why, "/properties/code/x-extensible-enum)");
}

#[test]
fn a_plan_is_lowered() {
    let place = "/info/x-plans/Pro/requestsPerMinute";
    let lower = |document: &mut Value| set(document, place, json!(100));
    assert_breaking(lower, "Pro.requestsPerMinute", "is lowered from 300 to 100", place);
}

#[test]
fn a_sunset_is_a_year_earlier() {
    let place = "/paths/~1pets~1{petId}/get/x-sunset";
    let earlier = |document: &mut Value| set(document, place, json!("2026-12-01"));
    let why = "may be removed after 2026-12-01 instead of 2027-12-01";
    assert_breaking(earlier, "getPet", why, place);
}

#[test]
fn keys_have_another_form() {
    let place = "/components/securitySchemes/apiKey/bearerFormat";
    let other = |document: &mut Value| set(document, place, json!("^sto_[0-9A-Za-z]{40}$"));
    assert_breaking(other, "apiKey", "`bearerFormat` changed from", place);
}

#[test]
fn a_type_changes_under_the_next_major_version_but_the_old_path() {
    let (outcome, text) = with(|document| {
        set(document, "/components/schemas/Order/properties/quantity/type", json!("string"));
        set(document, "/info/version", json!("2.0.0"));
    });
    assert_eq!(outcome, Outcome::Drift, "{text}");
    for line in [
        "✗ the major versions of spec/openapi.json and spec/openapi-v2.json are those of every base URL\n",
        "  /servers/0/url\n    https://orders.store.example/v1 does not end in /v2, but info.version \
         is 2.0.0\n",
        "  /servers/1/url\n",
        "  base_path in xtask/src/documents.rs\n    /v1 is not /v2, but info.version is 2.0.0\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn each_base_url_ends_in_the_major_version() {
    let real: Value = serde_json::from_str(&Repository::here().read(V1.file).unwrap()).unwrap();
    let places = |change: &dyn Fn(&mut Value), of: &Document| {
        let mut document = real.clone();
        change(&mut document);
        let problems = check_major_version(of, &document);
        problems.into_iter().map(|problem| problem.place).collect::<Vec<_>>()
    };
    assert_eq!(places(&|_| {}, &V1), [""; 0]);
    assert_eq!(places(&|_| {}, &V2), ["base_path in xtask/src/documents.rs"]);
    let own = |document: &mut Value| {
        let path = document.pointer_mut("/paths/~1store~1orders").unwrap();
        path["servers"] = json!([{ "url": "https://x.example/v11" }]);
    };
    assert_eq!(places(&own, &V1), ["/paths/~1store~1orders/servers/0/url"]);
    let none = |document: &mut Value| drop(take(document, "/servers").unwrap());
    assert_eq!(places(&none, &V1), ["/servers"]);
    let second = |document: &mut Value| {
        for index in 0..2 {
            set(document, &format!("/servers/{index}/url"), json!("https://{host}/v2"));
        }
        set(document, "/info/version", json!("2.0.0"));
    };
    assert_eq!(places(&second, &V2), [""; 0]);
}

/// The check on this day of the real document without getPet and its schema.
fn without_pets(today: &str, version: &str) -> (Outcome, String) {
    let (checkout, document) = changed(|document| {
        set(document, "/info/version", json!(version));
        for gone in ["/paths/~1pets~1{petId}", "/components/schemas/Pet"] {
            take(document, gone).unwrap();
        }
    });
    let own = format!("## {}", store_orders_api::API_VERSION);
    let real = checkout.repository.read(CHANGELOG).unwrap();
    let line = |line: &str| match line.starts_with(&own) {
        true => format!("## {version}\n\n- `getPet` is gone, and `Pet` with it.\n"),
        false => format!("{line}\n"),
    };
    let changelog: String = real.lines().map(line).collect();
    checkout.put(CHANGELOG, &changelog);
    check((checkout, document), Some(today))
}

#[test]
fn the_pet_endpoint_may_go_after_its_sunset_and_not_before() {
    let (outcome, text) = without_pets("2027-12-02", "1.99.0");
    assert_eq!(outcome, Outcome::Clean, "{text}");
    let (outcome, text) = without_pets("2027-12-01", "1.99.0");
    assert_eq!(outcome, Outcome::Drift, "{text}");
    for line in ["`getPet` is removed (/paths/", "`Pet` is removed, and with it a type"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_version_is_passed_over() {
    let (checkout, document) = changed(|_| ());
    let name = "1.1.1.json";
    let root = checkout.repository.root().join(PUBLISHED);
    std::fs::remove_file(root.join(name)).unwrap();
    let sums = std::fs::read_to_string(root.join(SUMS)).unwrap();
    let left: Vec<_> = sums.split_inclusive('\n').filter(|line| !line.contains(name)).collect();
    checkout.put(&format!("{PUBLISHED}/{SUMS}"), &left.concat());
    let (outcome, text) = check((checkout, document), None);
    assert_eq!(outcome, Outcome::Drift, "{text}");
    let found = "spec/published/1.1.1.json\n    is missing, and CHANGELOG.md has its version\n";
    assert!(text.contains(found), "{text}");
}
