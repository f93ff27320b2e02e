//! Authentication, base URLs, and the document as a whole.

use super::table::{GET, OK, assert_rows, drop, edited, put, shop};
use super::today;
use serde_json::{Value, json};
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};
use xtask::compatibility::changes;
use xtask::documents::V1;
use xtask::repository::Repository;

#[test]
fn security_and_servers() {
    let second = shop()["servers"][1].clone();
    let turned = json!([second, shop()["servers"][0]]);
    assert_rows(vec![
        ("no security", vec![drop("/security")], Addition, "listThings"),
        (
            "no security for one operation",
            vec![put(&format!("{GET}/security"), json!([]))],
            Addition,
            "listThings",
        ),
        (
            "the same security, said by the operation",
            vec![put(&format!("{GET}/security"), json!([{ "apiKey": [] }]))],
            Neutral,
            "",
        ),
        (
            "another way in",
            vec![put("/security/-", json!({ "session": [] }))],
            Addition,
            "listThings",
        ),
        (
            "a way in replaced",
            vec![put("/security/0", json!({ "session": [] }))],
            Breaking,
            "listThings",
        ),
        ("two keys at once", vec![put("/security/0/session", json!([]))], Breaking, "listThings"),
        (
            "another scheme",
            vec![put("/components/securitySchemes/apiKey/scheme", json!("basic"))],
            Breaking,
            "apiKey",
        ),
        (
            "another cookie",
            vec![put("/components/securitySchemes/session/name", json!("s"))],
            Breaking,
            "session",
        ),
        (
            "the form of a token",
            vec![put("/components/securitySchemes/apiKey/bearerFormat", json!("opaque"))],
            Breaking,
            "apiKey",
        ),
        ("a server removed", vec![drop("/servers/1")], Breaking, "https://staging.shop.example/v1"),
        (
            "a server added",
            vec![put("/servers/-", json!({ "url": "https://eu.shop.example/v1" }))],
            Addition,
            "https://eu.shop.example/v1",
        ),
        (
            "another base path",
            vec![put("/servers/0/url", json!("https://{host}/v2"))],
            Breaking,
            "https://shop.example/v1",
        ),
        (
            "another host",
            vec![put("/servers/1/variables/host/default", json!("test.example"))],
            Breaking,
            "https://staging.shop.example/v1",
        ),
        ("another first server", vec![put("/servers", turned)], Breaking, "servers"),
        (
            "a host less",
            vec![put("/servers/0/variables/host/enum", json!(["shop.example"]))],
            Breaking,
            "https://shop.example/v1 host",
        ),
        (
            "a server for one path",
            vec![put("/paths/~1things/servers", json!([{ "url": "https://x.example" }]))],
            Breaking,
            "/things",
        ),
        ("a server described", vec![put("/servers/0/description", json!("Live"))], Neutral, ""),
    ]);
}

#[test]
fn the_document_itself() {
    assert_rows(vec![
        ("a patch version of OpenAPI", vec![put("/openapi", json!("3.0.4"))], Neutral, ""),
        ("another OpenAPI", vec![put("/openapi", json!("3.1.0"))], Breaking, "openapi"),
        ("the introduction", vec![put("/info/description", json!("The shop."))], Neutral, ""),
        ("a contact", vec![put("/info/contact", json!({ "name": "Shop" }))], Neutral, ""),
        ("a tag described", vec![put("/tags/0/description", json!("Wares"))], Neutral, ""),
        ("webhooks", vec![put("/webhooks", json!({}))], Breaking, "webhooks"),
        (
            "a shared response in place",
            vec![put(
                &format!("{GET}/responses/401"),
                shop()["components"]["responses"]["Failed"].clone(),
            )],
            Neutral,
            "",
        ),
        (
            "what should be an object and is none",
            vec![put(OK, json!("fine"))],
            Breaking,
            "listThings 200",
        ),
    ]);
}

#[test]
fn nothing_changed() {
    assert!(changes(&shop(), &shop(), today()).is_empty());
    let other_version = edited(&[put("/info/version", json!("2.0.0"))]);
    assert!(changes(&shop(), &other_version, today()).is_empty(), "the version is no change");
    let real: Value = serde_json::from_str(&Repository::here().read(V1.file).unwrap()).unwrap();
    assert!(changes(&real, &real, today()).is_empty());
}

#[test]
fn a_change_of_a_shared_part_is_found_wherever_it_is_used() {
    let found =
        changes(&shop(), &edited(&[drop("/components/schemas/Error/properties/code")]), today());
    let places: Vec<_> = found.iter().map(|change| change.pointer.as_str()).collect();
    assert!(
        places.contains(
            &"/paths/~1things/get/responses/401/content/application~1json/schema/properties/code"
        ),
        "{places:?}"
    );
    assert!(places.iter().any(|place| place.contains("/post/responses/5XX/")), "{places:?}");
}
