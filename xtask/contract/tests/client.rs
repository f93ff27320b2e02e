//! The client of a document with what the documents of this repository have not.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use contract::{package, write_package};
use serde_json::{Value, json};
use std::process::Command;

fn shop() -> Value {
    serde_json::from_str(include_str!("shop/shop.json")).unwrap()
}

/// The shop without what the client refuses, with a list in pages, a deprecated operation, and an
/// outcome.
fn carried() -> Value {
    let mut document = shop();
    let paths = document["paths"].as_object_mut().unwrap();
    paths.remove("/picture").unwrap();
    paths.remove("/anything").unwrap();
    let thing = paths["/things/{thingId}"].as_object_mut().unwrap();
    thing.remove("put").unwrap();
    thing["get"]["responses"]["404"] = json!({ "description": "No such thing" });
    let parameters = thing["get"]["parameters"].clone();
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let gone = json!({ "code": "gone", "status": 404, "text": "It is gone." });
    thing.insert("delete".to_string(), json!({
        "operationId": "removeThing",
        "parameters": parameters,
        "responses": {
            "204": { "description": "Removed",
                     "x-outcome": { "name": "removed", "description": "This call removed it." } },
            "404": { "description": "It is gone",
                     "x-outcome-after-retry": { "name": "gone", "description": "It is gone." },
                     "content": { "application/json": {
                         "schema": problem, "examples": { "gone": { "value": gone } } } } },
        },
    }));
    let list = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Thing" } });
    document["components"]["schemas"]["Things"] = json!({
        "type": "object",
        "properties": { "found": list, "after": { "type": "string" } },
        "required": ["found"],
    });
    document["paths"]["/search"] = json!({ "get": {
        "operationId": "search",
        "x-pages": { "cursor": "from", "next": "after", "items": "found" },
        "parameters": [
            { "in": "query", "name": "text", "required": true, "schema": { "type": "string" } },
            { "in": "query", "name": "from", "schema": { "type": "string" } },
            { "in": "header", "name": "If-None-Match", "schema": { "type": "string" } },
        ],
        "responses": {
            "200": { "description": "A page", "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Things" } } } },
            "304": { "description": "Nothing new" },
        },
    } });
    document
}

/// The files of the package, or the refusals.
fn files(document: &Value) -> Result<Vec<(String, String)>, String> {
    package(&document.to_string(), "shop.json", true).map_err(|error| error.to_string())
}

#[test]
fn what_the_client_cannot_carry_is_refused_with_its_place() {
    let refusals = files(&shop()).unwrap_err();
    let places = refusals.lines().map(|line| line.split(": ").next().unwrap());
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "/paths/~1things~1{thingId}/get/responses/404/content/application~1json",
            "/paths/~1things~1{thingId}/put/requestBody",
            "/paths/~1picture/get/responses/200",
            "/paths/~1anything/get",
        ]
    );
    let with = |pointer: &str, value: Value| {
        let mut document = carried();
        *document.pointer_mut(pointer).unwrap() = value;
        files(&document).unwrap_err()
    };
    for (pointer, value, says) in [
        (
            "/paths/~1search/get/x-pages/next",
            json!("none"),
            "/paths/~1search/get/x-pages: names no pages",
        ),
        (
            "/paths/~1things~1{thingId}/delete/responses/204/x-outcome",
            json!({ "name": "removed" }),
            "x-outcome-after-retry: an outcome needs",
        ),
        (
            "/components/schemas/Thing/properties/type/x-extensible-enum",
            json!(["tool", "other"]),
            "\"other\" cannot name a variant",
        ),
        (
            "/paths/~1things/post/responses/202",
            json!({ "description": "", "content": { "application/json": { "schema": {} } } }),
            "/paths/~1things/post/responses/202: a success with content beside 201",
        ),
    ] {
        let text = with(pointer, value);
        assert!(text.contains(says), "{text}");
    }
    let mut document = carried();
    document["components"]["schemas"]["Client"] = json!({ "type": "object", "properties": {} });
    let text = files(&document).unwrap_err();
    assert!(
        text.contains("/components/schemas/Client: the client has a Client of its own"),
        "{text}"
    );
}

#[test]
fn each_operation_has_its_methods_and_its_route() {
    let files = files(&carried()).unwrap();
    let text = |name: &str| &files.iter().find(|(file, _)| file == name).unwrap().1;
    for (name, expected) in [
        ("client/src/api/operations.rs", "pub fn list_things(&self) -> ListThings"),
        ("client/src/api/operations.rs", "Result<Response<Option<types::Thing>>, Error>"),
        ("client/src/api/operations.rs", "pub async fn send_if_changed("),
        ("client/src/api/operations.rs", "RemoveThingOutcome::Gone"),
        ("client/src/api/operations.rs", "pub type Found = Pages<Search>;"),
        ("client/src/api/blocking.rs", "pub fn remove_thing("),
        ("client/src/api/records.rs", "impl NewThing {\n    /// With what is always there."),
        ("client/src/api/errors.rs", "/// `name_reserved`"),
        ("client/src/api/testing.rs", "answer: |store, sent| Operations::get_thing(store, sent)"),
        ("client/tests/operations.rs", "async fn add_thing_is_answered()"),
    ] {
        assert!(text(name).contains(expected), "{expected}: {}", text(name));
    }
}

#[test]
#[ignore = "compiles a package, which takes minutes"]
fn the_package_compiles_and_calls_each_operation() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("shop");
    write_package(&files(&carried()).unwrap(), &directory).unwrap();
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    std::fs::copy(lock, directory.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--workspace"]).current_dir(&directory);
    cargo.env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/.."));
    let output = cargo.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("test search_is_answered ... ok"), "{text}");
}
