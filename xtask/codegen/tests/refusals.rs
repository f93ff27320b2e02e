//! Checks that the generator refuses unsupported parts of a document, and that its error names each
//! part's place.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a failed test panics")]

use codegen::pointer::put;
use codegen::{Error, parse, server};
use serde_json::{Value, json};
use testbed::{assert_text, str};

fn subset() -> Value {
    parse(include_str!("subset/subset.json")).unwrap()
}

fn refusals_of(document: &Value) -> Vec<String> {
    match server(document, "subset.json", "x") {
        Err(Error::Refused(refusals)) => refusals.to_string().lines().map(str::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

fn refusals_after(pointer: &str, value: Value) -> String {
    let mut document = subset();
    put(&mut document, pointer, value).unwrap();
    refusals_of(&document).join("\n")
}

#[test]
fn the_committed_contract_of_the_subset_is_up_to_date() {
    let command = "SNAPSHOTS=overwrite cargo test -p codegen --test refusals";
    let generated = server(&subset(), "subset.json", command).unwrap();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subset/contract.rs");
        std::fs::write(file, &generated).unwrap();
        return;
    }
    let differences =
        xtask::line_diff::line_diff(include_str!("subset/contract.rs"), &generated, 100);
    assert!(differences.is_empty(), "SNAPSHOTS=overwrite writes:\n{}", differences.join("\n"));
}

#[test]
fn each_bad_input_is_one_line_with_its_place() {
    let (list, add) = ("/paths/~1/get", "/paths/~1/post");
    let book = "/components/schemas/Book/properties";
    let string = || json!({ "type": "string" });
    let responses = json!({ "200": { "description": "" } });
    let with_id = |id: &str| json!({ "operationId": id, "responses": responses.clone() });
    let cases = [
        ("/openapi", json!("3.1.0")),
        ("/openapi", json!("2.0")),
        ("/webhooks", json!({})),
        (
            "/components/securitySchemes/token",
            json!({ "type": "apiKey", "in": "header", "name": "X-API-Key" }),
        ),
        ("/components/securitySchemes/token", json!({ "type": "http", "scheme": "basic" })),
        ("/security", json!([])),
        (&format!("{book}/authors/items/$ref"), json!("#/components/schemas/Gone")),
        (&format!("{book}/authors/items/$ref"), json!("other.json#/Author")),
        (&format!("{list}/operationId"), json!("addBook")),
        (&format!("{list}/operationId"), json!("1st")),
        (&format!("{list}/operationId"), json!("self")),
        (&format!("{book}/new"), json!({ "$ref": "#/components/schemas/Book" })),
        (&format!("{book}/1st"), string()),
        (&format!("{book}/Type"), string()),
        (&format!("{book}/new"), json!({ "type": "text" })),
        (&format!("{book}/new"), json!({ "oneOf": [] })),
        (&format!("{book}/new"), json!({ "type": "object", "properties": {} })),
        ("/components/schemas/Book/additionalProperties", json!(false)),
        (&format!("{book}/new"), json!({ "type": "integer", "multipleOf": 2 })),
        (&format!("{book}/new"), json!({ "type": "integer", "format": "uint8" })),
        (&format!("{book}/new"), json!({ "type": "string", "format": "date" })),
        (&format!("{book}/new"), json!({ "type": "string", "maxLength": 9 })),
        (&format!("{book}/new"), json!({ "type": "string", "pattern": "(?=a)" })),
        (&format!("{book}/new"), json!({ "type": "string", "pattern": "\\d" })),
        (&format!("{book}/new"), json!({ "type": "string", "enum": ["a-b", "a_b"] })),
        ("/components/schemas/book", json!({ "type": "object", "properties": {} })),
        ("/components/schemas/Vec", json!({ "type": "object", "properties": {} })),
        ("/components/schemas/BookType", json!({ "type": "object", "properties": {} })),
        ("/components/schemas/Name", string()),
        ("/components/schemas/Name", json!({ "type": "string", "enum": ["a"] })),
        ("/components/schemas/Error/properties/status", string()),
        (
            "/components/schemas/Error/properties/code/x-extensible-enum",
            json!(["invalid", "not_found", "book_exists", "broken", "closed", "lent"]),
        ),
        (&format!("{list}/responses"), json!({})),
        (&format!("{list}/responses/200/content"), json!({ "application/json": {} })),
        (&format!("{list}/responses/200/content"), json!({ "text/plain": { "schema": string() } })),
        (&format!("{list}/responses/400/content/application~1json"), json!({})),
        (&format!("{list}/responses/4XX"), json!({ "description": "" })),
        (
            &format!(
                "{add}/responses/409/content/application~1json/examples/book_exists/value/code"
            ),
            json!("invalid"),
        ),
        (
            &format!(
                "{add}/responses/409/content/application~1json/examples/book_exists/value/status"
            ),
            json!(404),
        ),
        (&format!("{add}/requestBody/required"), json!(false)),
        (&format!("{list}/parameters/0/in"), json!("cookie")),
        (&format!("{book}/new"), json!({ "type": "array", "items": string(), "maxItems": 2 })),
        (&format!("{list}/parameters/0/schema"), json!({ "type": "array", "items": string() })),
        (&format!("{list}/parameters/7/name"), json!("authorization")),
        (&format!("{list}/parameters/7/name"), json!("X/Y")),
        (&format!("{list}/parameters/7/in"), json!("path")),
        (&format!("{list}/parameters/7/schema"), json!({ "type": "string", "format": "HH:mm" })),
        (&format!("{list}/responses/200/headers/Content-Type"), json!({ "schema": string() })),
        (
            &format!("{list}/responses/200/headers/X-New"),
            json!({ "schema": { "type": "string", "format": "date" } }),
        ),
        (
            &format!("{list}/responses/304/content"),
            json!({ "application/json": { "schema": string() } }),
        ),
        (&format!("{list}/callbacks"), json!({})),
        ("/paths/~1/trace", with_id("trace")),
        ("/paths/~1new", json!({ "get": with_id("readNew") })),
        ("/paths/~1x~1{a}b", json!({ "get": with_id("readAb") })),
    ];
    let lines = cases.map(|(pointer, value)| refusals_after(pointer, value) + "\n");
    assert_text(
        &lines.concat(),
        str![[r#"
/openapi: is of OpenAPI 3.1.0; write an OpenAPI 3.0 document
/openapi: is of OpenAPI 2.0; write an OpenAPI 3.0 document
/webhooks: a document with `webhooks` is not supported; leave it out; there may be openapi, info, externalDocs, servers, security, tags, paths, components
/components/securitySchemes/token: a security scheme other than bearer is not supported; write one of the type http with the scheme bearer
/components/securitySchemes/token/in: a security scheme with `in` is not supported; leave it out; there may be type, scheme, bearerFormat, description
/components/securitySchemes/token/name: a security scheme with `name` is not supported; leave it out; there may be type, scheme, bearerFormat, description
/components/securitySchemes/token: a security scheme other than bearer is not supported; write one of the type http with the scheme bearer
/security: a document requires one security scheme for all operations; write one scheme, and require it here
/components/schemas/Book/properties/authors/items/$ref: #/components/schemas/Gone leads nowhere; add what it names
/components/schemas/Book/properties/authors/items/$ref: "other.json#/Author" leads out of the document; copy what it leads to into components
/paths/~1/post/operationId: is named AddBookSuccess in Rust, as /paths/~1/get/operationId is; rename one of them
/paths/~1/get/operationId: "1st" is not a name in Rust; rename it: letters, then letters, digits or _
/paths/~1/get/operationId: "self" is not a name in Rust; rename it: letters, then letters, digits or _
/components/schemas/Book: is recursive, which is not supported; refer to the other by an id
/components/schemas/Book/properties/1st: "1st" is not a name in Rust; rename it: letters, then letters, digits or _
/components/schemas/Book/properties/Type: is named r#type in Rust, as "type" is; rename one of them
/components/schemas/Book/properties/new: a schema of this form is not supported; write boolean, integer, string, array or a $ref
/components/schemas/Book/properties/new: a schema of this form is not supported; write boolean, integer, string, array or a $ref
/components/schemas/Book/properties/new: an object has no name here; write it in components/schemas
/components/schemas/Book/additionalProperties: an object of `components` with `additionalProperties` is not supported; leave it out; there may be type, description, required, properties
/components/schemas/Book/properties/new/multipleOf: an integer with `multipleOf` is not supported; leave it out; there may be type, description, default, format, minimum, maximum
/components/schemas/Book/properties/new: an integer of the format "uint8" is not supported; write int32, int64, or none
/components/schemas/Book/properties/new: a string of the format "date" is not supported; write date-time, or a pattern
/components/schemas/Book/properties/new/maxLength: a string with `maxLength` is not supported; leave it out; there may be type, description, format, enum, pattern
/components/schemas/Book/properties/new/pattern: the regular expression has what Rust's have not, such as look-around; write it without
/components/schemas/Book/properties/new/pattern: \d, \w, \s and \b are not supported; write a class such as [0-9]
/components/schemas/Book/properties/new/enum/1: is named AB in Rust, as another value is; rename one of them
/components/schemas/book: is named Book in Rust, as /components/schemas/Book is; rename one of them
/components/schemas/Vec: is named Vec in Rust, as what the code uses is; rename one of them
/components/schemas/Book/properties/type: is named BookType in Rust, as /components/schemas/BookType is; rename one of them
/components/schemas/Name: a named schema of this type is not supported; write it where it is used, or make it an object
/components/schemas/Name: a named schema of this type is not supported; write it where it is used, or make it an object
/components/schemas: has no schema Error of `code` (with `x-extensible-enum`), `message` and `status`, all required; add it: it is the body of every error
/components/schemas/Error/properties/code/x-extensible-enum/5: the error code "lent" has no description; add "lent" to x-enumDescriptions
/paths/~1/get/responses: an operation needs a success; write 200 or the like
/paths/~1/get/responses/200/content/application~1json: JSON needs a `schema`; add it
/paths/~1/get/responses/200/content: content other than `application/json` alone is not supported; write that one
/paths/~1/get/responses/400/content/application~1json: JSON needs a `schema`; add it
/paths/~1/get/responses/400/content/application~1json: the body of an error is Error; refer to components/schemas/Error
/paths/~1/get/responses/400/content/application~1json: an error needs an example for each code; add `examples`: one for each code, named by it
/paths/~1/get/responses/4XX: 4XX is not the status of an error; write one such as 404, or 5XX
/paths/~1/post/responses/409/content/application~1json/examples/book_exists/value: the example "book_exists" has the code "invalid"; name the example by its code
/paths/~1/post/responses/409/content/application~1json/examples/book_exists/value: shows the status 404 under 409; make the two equal
/paths/~1/post/requestBody: a body that may be absent is not supported; write `required: true`
/paths/~1/get/parameters/0: this parameter is not supported; write it here, in path, query or header
/components/schemas/Book/properties/new/maxItems: an array with `maxItems` is not supported; leave it out; there may be type, description, items
/paths/~1/get/parameters/0/schema: a parameter of this schema is not supported; write a string, integer, boolean or enum
/paths/~1/get/parameters/7/name: OpenAPI ignores a header "authorization" here; leave it out
/paths/~1/get/parameters/7/name: "X/Y" is not a name in Rust; rename it: letters, then letters, digits or _
/paths/~1/get/parameters: "X-Trace" is not in the path; remove it
/paths/~1/get/parameters/7: dropshot emits parameters in another order; write first those of the path, then of the query, then headers
/paths/~1/get/parameters/7: a parameter of the path is required; write `required: true`
/paths/~1/get/parameters/7/schema: a string of the format "HH:mm" is not supported; write date-time, or a pattern
/paths/~1/get/responses/200/headers/Content-Type: OpenAPI ignores a header "Content-Type" here; leave it out
/paths/~1/get/responses/200/headers/X-New/schema: the format "date" is not supported in a header; leave it out; xtask/README.md lists what a header may use
/paths/~1/get/responses/304/content: a response of 304 has no content; leave it out
/paths/~1/get/callbacks: an operation with `callbacks` is not supported; leave it out; there may be tags, summary, description, operationId, parameters, requestBody, responses, deprecated
/paths/~1/trace: a path with `trace` is not supported; leave it out; there may be get, put, post, delete, patch
/paths/~1new: new stands where /{isbn} has {isbn}, and dropshot does not tell them apart; use the same parameter, or another path
/paths/~1x~1{a}b: {a}b is more than a parameter; write a parameter as a whole segment
/paths/~1x~1{a}b: x stands where /{isbn} has {isbn}, and dropshot does not tell them apart; use the same parameter, or another path
"#]],
    );
}

#[test]
fn invalid_json_and_duplicate_keys_are_refused() {
    let parse_error = |text: &str| parse(text).unwrap_err().to_string();
    assert!(
        parse_error("{").starts_with("(the whole document): is not JSON: EOF"),
        "{}",
        parse_error("{")
    );
    assert!(parse_error("{} x").contains("trailing characters"), "{}", parse_error("{} x"));
    let doubled = r#"{ "a": { "b/": 1, "b/": 2 }, "c": 1, "c": 1 }"#;
    assert_eq!(
        parse_error(doubled),
        "/a/b~1: is a duplicate key; remove one of the two\n\
         /c: is a duplicate key; remove one of the two"
    );
    for document in [json!(1), json!([]), json!({}), json!({ "openapi": "3.0.3" })] {
        assert!(matches!(server(&document, "x", "x"), Err(Error::Refused(_))), "{document}");
    }
}

#[test]
fn refusals_are_listed_in_the_order_of_the_document() {
    let mut document = subset();
    document["components"]["schemas"]["Author"]["not"] = json!({});
    document["paths"]["/{isbn}"]["get"]["summary"] = json!("");
    document["paths"]["/"]["trace"] = json!({ "responses": {} });
    let lines = refusals_of(&document);
    let places: Vec<_> = lines.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        ["/paths/~1/trace", "/paths/~1{isbn}/get", "/components/schemas/Author/not"]
    );
}
