//! What callers can do.

use super::table::{DELETE, GET, POST, assert_rows, drop, put, shop};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};

#[test]
fn operations() {
    let operation =
        || json!({ "operationId": "getThing", "responses": { "200": { "description": "It" } } });
    assert_rows(vec![
        ("an operation removed", vec![drop(POST)], Breaking, "addThing"),
        ("a path removed", vec![drop("/paths/~1things")], Breaking, "listThings"),
        (
            "a path renamed",
            vec![
                drop("/paths/~1things"),
                put("/paths/~1wares", shop()["paths"]["/things"].clone()),
            ],
            Breaking,
            "listThings",
        ),
        (
            "an operation added",
            vec![put("/paths/~1things~1{thingId}/get", operation())],
            Addition,
            "getThing",
        ),
        (
            "a path added",
            vec![put("/paths/~1new", json!({ "get": operation() }))],
            Addition,
            "getThing",
        ),
        (
            "an operation id changed",
            vec![put(&format!("{GET}/operationId"), json!("things"))],
            Breaking,
            "listThings",
        ),
        (
            "an operation id removed",
            vec![drop(&format!("{GET}/operationId"))],
            Breaking,
            "listThings",
        ),
        (
            "a tag changed",
            vec![put(&format!("{GET}/tags"), json!(["wares"]))],
            Breaking,
            "listThings",
        ),
        (
            "deprecated",
            vec![put(&format!("{GET}/deprecated"), json!(true))],
            Addition,
            "listThings",
        ),
        (
            "no longer deprecated",
            vec![drop(&format!("{DELETE}/deprecated"))],
            Addition,
            "removeThing",
        ),
        (
            "less stable",
            vec![put(&format!("{GET}/x-stability"), json!("beta"))],
            Breaking,
            "listThings",
        ),
        (
            "more stable",
            vec![put(&format!("{DELETE}/x-stability"), json!("stable"))],
            Addition,
            "removeThing",
        ),
        ("a beta operation removed", vec![drop(DELETE)], Addition, "removeThing"),
        (
            "a beta operation changed",
            vec![
                drop(&format!("{DELETE}/responses/204")),
                put(&format!("{DELETE}/responses/202"), json!({ "description": "Later" })),
            ],
            Addition,
            "removeThing 204",
        ),
        (
            "a callback",
            vec![put(&format!("{POST}/callbacks"), json!({ "done": {} }))],
            Breaking,
            "addThing",
        ),
        ("a summary", vec![put(&format!("{GET}/summary"), json!("All things"))], Neutral, ""),
        ("an unknown extension", vec![put(&format!("{GET}/x-internal"), json!(1))], Neutral, ""),
        (
            "an unknown keyword",
            vec![put(&format!("{GET}/retries"), json!(3))],
            Breaking,
            "listThings",
        ),
    ]);
}
