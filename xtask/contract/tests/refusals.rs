//! Documents of which no code can be made: each place is named, and nothing is written.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use contract::pointer::put;
use contract::{Error, contract, package, parse, write_package};
use serde_json::{Value, json};

fn shop() -> Value {
    parse(include_str!("shop/shop.json")).unwrap()
}

/// The lines that this document is refused with.
fn refused(document: &Value) -> Vec<String> {
    match contract(document, "shop.json", "x") {
        Err(Error::Refused(refusals)) => refusals.to_string().lines().map(str::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

/// The one line that the shop is refused with after this change.
fn refused_with(pointer: &str, value: Value) -> String {
    let mut document = shop();
    put(&mut document, pointer, value).unwrap();
    let lines = refused(&document);
    assert_eq!(lines.len(), 1, "{pointer}: {lines:#?}");
    lines[0].clone()
}

#[test]
fn each_bad_input_is_one_line_with_its_place() {
    let get = "/paths/~1things/get";
    let thing = "/components/schemas/Thing/properties";
    let id = |id: &str| json!({ "operationId": id, "responses": { "200": { "description": "" } } });
    for (pointer, value, line) in [
        (
            "/openapi",
            json!("3.1.0"),
            "/openapi: is of OpenAPI 3.1.0; write an OpenAPI 3.0 document",
        ),
        ("/openapi", json!("2.0"), "/openapi: is of OpenAPI 2.0;"),
        (
            "/webhooks",
            json!({}),
            "/webhooks: a document with `webhooks` is not supported; leave it out",
        ),
        (
            &format!("{thing}/state/allOf/0/$ref"),
            json!("#/components/schemas/Gone"),
            "/components/schemas/Thing/properties/state/allOf/0/$ref: #/components/schemas/Gone leads nowhere;",
        ),
        (
            &format!("{thing}/state/allOf/0/$ref"),
            json!("other.json#/State"),
            "leads out of the document; copy",
        ),
        (
            &format!("{get}/operationId"),
            json!("anything"),
            "/paths/~1anything/get/operationId: is named anything in Rust, as /paths/~1things/get/operationId is;",
        ),
        (&format!("{get}/operationId"), json!("r#"), "\"r#\" is no name in Rust;"),
        (&format!("{get}/operationId"), json!("1st"), "\"1st\" is no name in Rust;"),
        (&format!("{get}/operationId"), json!("self"), "\"self\" is no name in Rust;"),
        (
            &format!("{thing}/new"),
            json!({ "$ref": "#/components/schemas/Thing" }),
            "/components/schemas/Thing: is recursive",
        ),
        (&format!("{thing}/1st"), json!({ "type": "string" }), "\"1st\" is no name in Rust;"),
        (
            &format!("{thing}/Type"),
            json!({ "type": "string" }),
            "/components/schemas/Thing/properties/Type: is named r#type in Rust, as \"type\" is;",
        ),
        (
            &format!("{thing}/new"),
            json!({ "type": "text" }),
            "/components/schemas/Thing/properties/new: there is no type \"text\"",
        ),
        (&format!("{thing}/new"), json!({ "anyOf": [] }), "`anyOf` is not supported;"),
        (
            "/components/schemas/Problem/properties/code",
            json!({ "type": "string", "x-extensible-enum": ["bad_request", "name_reserved", "broken", "closed"] }),
            "\"thing_exists\" is not among the values of the schema; add it there",
        ),
        (
            &format!("{thing}/new"),
            json!({ "type": "integer", "multipleOf": 2 }),
            "a schema of integer with `multipleOf` is not supported;",
        ),
        (&format!("{thing}/new"), json!({ "type": "string", "pattern": "(?=a)" }), "look-around"),
        (
            &format!("{thing}/new"),
            json!({ "type": "string", "pattern": "\\d" }),
            "write a class such as [0-9]",
        ),
        (
            &format!("{thing}/new"),
            json!({ "type": "string", "enum": ["a-b", "a_b"] }),
            "is named AB in Rust, as another value is;",
        ),
        (
            "/components/schemas/thing",
            json!({ "type": "string" }),
            "/components/schemas/thing: is named Thing in Rust, as /components/schemas/Thing is;",
        ),
        (
            "/paths/~1picture/get/responses",
            json!({}),
            "/paths/~1picture/get/responses: an operation needs a success",
        ),
        (
            "/paths/~1picture/get/responses/200/content",
            json!({ "application/json": {} }),
            "JSON needs a `schema`; add it",
        ),
        (
            &format!("{get}/responses/400/content/application~1json"),
            json!({}),
            "JSON needs a `schema`; add it",
        ),
        (&format!("{get}/parameters/0/in"), json!("cookie"), "in \"cookie\" is not supported;"),
        (
            &format!("{get}/parameters/5/name"),
            json!("authorization"),
            "/paths/~1things/get/parameters/5/name: OpenAPI ignores a header \"authorization\" here;",
        ),
        (&format!("{get}/parameters/5/name"), json!("X/Y"), "\"X/Y\" is no name of a header"),
        (
            &format!("{get}/responses/200/headers/x-total"),
            json!({ "schema": { "type": "integer" } }),
            "/paths/~1things/get/responses/200/headers/x-total: is named x_total in Rust, as another part is;",
        ),
        (
            &format!("{get}/responses/200/headers/Content-Type"),
            json!({ "schema": { "type": "string" } }),
            "OpenAPI ignores a header \"Content-Type\" here;",
        ),
        (
            &format!("{get}/parameters/0"),
            json!({ "$ref": "#/components/schemas/State" }),
            "/paths/~1things/get/parameters/0: #/components/schemas/State is none of components/parameters;",
        ),
        ("/paths/~1picture/trace", id("trace"), "dropshot serves no TRACE;"),
        (&format!("{get}/security"), json!([{}]), "a key that may be absent is not supported;"),
        (&format!("{get}/security"), json!([{ "x": [] }]), "\"x\" is no scheme of components;"),
        (
            "/components/parameters/ThingId/required",
            json!(false),
            "/components/parameters/ThingId: a parameter in the path is always there;",
        ),
        (
            &format!("{get}/responses/304/content"),
            json!({ "application/json": { "schema": { "type": "string" } } }),
            "a response of 304 has no content;",
        ),
        (
            "/components/schemas/Thing/nullable",
            json!(true),
            "/components/schemas/Thing/nullable: a named schema with `nullable` is not supported;",
        ),
        (
            "/components/schemas/Origin/discriminator",
            json!({ "propertyName": "kind" }),
            "/components/schemas/Origin/discriminator: a form with `discriminator` is not supported;",
        ),
        (&format!("{get}/callbacks"), json!({}), "an operation with `callbacks` is not supported;"),
        (
            "/paths/~1things~1{thingId}~1notes~1all",
            json!({ "parameters": [{ "$ref": "#/components/parameters/ThingId" }], "get": id("all") }),
            "does not tell them apart;",
        ),
        ("/paths/~1x~1{a}b", json!({ "get": id("ab") }), "{a}b is more than a parameter;"),
        ("/paths/~1x~1{a}", json!({ "get": id("ab") }), "the path has {a}, which is no parameter"),
    ] {
        let found = refused_with(pointer, value);
        assert!(found.contains(line), "{pointer}: {found}");
    }
}

#[test]
fn what_is_no_json_or_has_a_key_twice_is_refused() {
    let refused = |text: &str| parse(text).unwrap_err().to_string();
    assert!(refused("{").starts_with("(the whole document): is not JSON: EOF"), "{}", refused("{"));
    assert!(refused("{} x").contains("trailing characters"), "{}", refused("{} x"));
    let doubled = r#"{ "a": { "b/": 1, "b/": 2 }, "c": 1, "c": 1 }"#;
    assert_eq!(
        refused(doubled),
        "/a/b~1: stands twice in its object; remove one of the two\n\
         /c: stands twice in its object; remove one of the two"
    );
    for document in [json!(1), json!([]), json!({}), json!({ "openapi": "3.0.3" })] {
        assert!(matches!(contract(&document, "x", "x"), Err(Error::Refused(_))), "{document}");
    }
}

#[test]
fn all_places_are_listed_in_the_order_of_the_document() {
    let mut document = shop();
    document["components"]["schemas"]["State"] = json!({ "not": {} });
    document["paths"]["/picture"]["get"]["operationId"] = json!("1st");
    document["paths"]["/things"]["trace"] = json!({ "responses": {} });
    let lines = refused(&document);
    let places: Vec<_> = lines.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "/paths/~1things/trace",
            "/paths/~1picture/get/operationId",
            "/components/schemas/State/not"
        ]
    );
}

#[test]
fn a_package_is_written_whole_or_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("new/shop");
    let files = package(include_str!("shop/shop.json"), "shop.json", false).unwrap();
    write_package(&files, &directory).unwrap();
    for (name, text) in &files {
        assert_eq!(std::fs::read_to_string(directory.join(name)).unwrap(), *text, "{name}");
    }
    let manifest = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap();
    assert!(manifest.starts_with("[package]\nname = \"shop-contract\"\n"), "{manifest}");
    assert_eq!(manifest.lines().filter(|line| line.starts_with("dropshot = ")).count(), 1);
    // What is there already stays.
    std::fs::write(directory.join("src/mine.rs"), "").unwrap();
    assert!(write_package(&files, &directory).is_err());
    assert!(directory.join("src/mine.rs").exists());
    let left = std::fs::read_dir(root.path().join("new")).unwrap().count();
    assert_eq!(left, 1);
    assert!(package("{}", "x", false).is_err());
}
