//! Documents of which no code can be made: each place is named, and nothing is written.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use contract::pointer::put;
use contract::{Error, contract, parse};
use serde_json::{Value, json};
use testbed::{assert_text, str};

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
    let cases = [
        ("/openapi", json!("3.1.0")),
        ("/openapi", json!("2.0")),
        ("/webhooks", json!({})),
        (&format!("{thing}/state/allOf/0/$ref"), json!("#/components/schemas/Gone")),
        (&format!("{thing}/state/allOf/0/$ref"), json!("other.json#/State")),
        (&format!("{get}/operationId"), json!("anything")),
        (&format!("{get}/operationId"), json!("r#")),
        (&format!("{get}/operationId"), json!("1st")),
        (&format!("{get}/operationId"), json!("self")),
        (&format!("{thing}/new"), json!({ "$ref": "#/components/schemas/Thing" })),
        (&format!("{thing}/1st"), json!({ "type": "string" })),
        (&format!("{thing}/Type"), json!({ "type": "string" })),
        (&format!("{thing}/new"), json!({ "type": "text" })),
        (&format!("{thing}/new"), json!({ "anyOf": [] })),
        (
            "/components/schemas/Problem/properties/code",
            json!({ "type": "string", "x-extensible-enum": ["bad_request", "name_reserved", "broken", "closed"] }),
        ),
        (&format!("{thing}/new"), json!({ "type": "integer", "multipleOf": 2 })),
        (&format!("{thing}/new"), json!({ "type": "string", "pattern": "(?=a)" })),
        (&format!("{thing}/new"), json!({ "type": "string", "pattern": "\\d" })),
        (&format!("{thing}/new"), json!({ "type": "string", "enum": ["a-b", "a_b"] })),
        ("/components/schemas/thing", json!({ "type": "string" })),
        ("/paths/~1picture/get/responses", json!({})),
        ("/paths/~1picture/get/responses/200/content", json!({ "application/json": {} })),
        (&format!("{get}/responses/400/content/application~1json"), json!({})),
        (&format!("{get}/parameters/0/in"), json!("cookie")),
        (&format!("{get}/parameters/5/name"), json!("authorization")),
        (&format!("{get}/parameters/5/name"), json!("X/Y")),
        (
            &format!("{get}/responses/200/headers/x-total"),
            json!({ "schema": { "type": "integer" } }),
        ),
        (
            &format!("{get}/responses/200/headers/Content-Type"),
            json!({ "schema": { "type": "string" } }),
        ),
        (&format!("{get}/parameters/0"), json!({ "$ref": "#/components/schemas/State" })),
        ("/paths/~1picture/trace", id("trace")),
        (&format!("{get}/security"), json!([{}])),
        (&format!("{get}/security"), json!([{ "x": [] }])),
        ("/components/parameters/ThingId/required", json!(false)),
        (
            &format!("{get}/responses/304/content"),
            json!({ "application/json": { "schema": { "type": "string" } } }),
        ),
        ("/components/schemas/Thing/nullable", json!(true)),
        ("/components/schemas/Origin/discriminator", json!({ "propertyName": "kind" })),
        (&format!("{get}/callbacks"), json!({})),
        (
            "/paths/~1things~1{thingId}~1notes~1all",
            json!({ "parameters": [{ "$ref": "#/components/parameters/ThingId" }], "get": id("all") }),
        ),
        ("/paths/~1x~1{a}b", json!({ "get": id("ab") })),
        ("/paths/~1x~1{a}", json!({ "get": id("ab") })),
    ];
    let lines = cases.map(|(pointer, value)| refused_with(pointer, value) + "\n");
    assert_text(
        &lines.concat(),
        str![[r#"
/openapi: is of OpenAPI 3.1.0; write an OpenAPI 3.0 document
/openapi: is of OpenAPI 2.0; write an OpenAPI 3.0 document
/webhooks: a document with `webhooks` is not supported; leave it out
/components/schemas/Thing/properties/state/allOf/0/$ref: #/components/schemas/Gone leads nowhere; add what it names
/components/schemas/Thing/properties/state/allOf/0/$ref: "other.json#/State" leads out of the document; copy what it leads to into components
/paths/~1anything/get/operationId: is named anything in Rust, as /paths/~1things/get/operationId is; rename one of them
/paths/~1things/get/operationId: "r#" is no name in Rust; rename it: letters, then letters, digits or _
/paths/~1things/get/operationId: "1st" is no name in Rust; rename it: letters, then letters, digits or _
/paths/~1things/get/operationId: "self" is no name in Rust; rename it: letters, then letters, digits or _
/components/schemas/Thing: is recursive, which is not supported; refer to the other by an id
/components/schemas/Thing/properties/1st: "1st" is no name in Rust; rename it: letters, then letters, digits or _
/components/schemas/Thing/properties/Type: is named r#type in Rust, as "type" is; rename one of them
/components/schemas/Thing/properties/new: there is no type "text" in OpenAPI 3.0; write one of its types
/components/schemas/Thing/properties/new/anyOf: `anyOf` is not supported; write one object with optional members
/paths/~1things/post/responses/409/content/application~1json/examples/thing_exists/value/code: "thing_exists" is not among the values of the schema; add it there
/components/schemas/Thing/properties/new/multipleOf: a schema of integer with `multipleOf` is not supported; leave it out
/components/schemas/Thing/properties/new/pattern: the regular expression has what Rust's have not, such as look-around; write it without
/components/schemas/Thing/properties/new/pattern: \d, \w, \s and \b are not supported; write a class such as [0-9]
/components/schemas/Thing/properties/new/enum/1: is named AB in Rust, as another value is; rename one of them
/components/schemas/thing: is named Thing in Rust, as /components/schemas/Thing is; rename one of them
/paths/~1picture/get/responses: an operation needs a success with a status of its own; write 200 or the like
/paths/~1picture/get/responses/200/content/application~1json: JSON needs a `schema`; add it
/paths/~1things/get/responses/400/content/application~1json: JSON needs a `schema`; add it
/paths/~1things/get/parameters/0: a parameter in "cookie" is not supported; put it into path, query or header
/paths/~1things/get/parameters/5/name: OpenAPI ignores a header "authorization" here; leave it out
/paths/~1things/get/parameters/5/name: "X/Y" is no name of a header and in Rust; rename it: letters, then letters, digits, - or _
/paths/~1things/get/responses/200/headers/x-total: is named x_total in Rust, as another part is; rename one of them
/paths/~1things/get/responses/200/headers/Content-Type: OpenAPI ignores a header "Content-Type" here; leave it out
/paths/~1things/get/parameters/0: #/components/schemas/State is none of components/parameters; refer to one
/paths/~1picture/trace: dropshot serves no TRACE; leave the operation out
/paths/~1things/get/security/0: a key that may be absent is not supported; leave it out
/paths/~1things/get/security/0/x: "x" is no scheme of components; add it, or name another
/components/parameters/ThingId: a parameter in the path is always there; write `required: true`
/paths/~1things/get/responses/304/content: a response of 304 has no content; leave it out
/components/schemas/Thing/nullable: a named schema with `nullable` is not supported; write it where it is used
/components/schemas/Origin/discriminator: a form with `discriminator` is not supported; leave it out
/paths/~1things/get/callbacks: an operation with `callbacks` is not supported; leave it out
/paths/~1things~1{thingId}~1notes~1{part}: {part} stands where /things/{thingId}/notes/all has all, and dropshot does not tell them apart; use the same parameter, or another path
/paths/~1x~1{a}b: {a}b is more than a parameter; write a parameter as a whole segment
/paths/~1x~1{a}/get: the path has {a}, which is no parameter of the operation; add it here
"#]],
    );
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
