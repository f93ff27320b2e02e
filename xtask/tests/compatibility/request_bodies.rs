//! What callers send as a body.

use super::table::{DELETE, GET, NEW_THING, POST, assert_rows, drop, put};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking};

#[test]
fn request_bodies() {
    let body = format!("{POST}/requestBody");
    assert_rows(vec![
        (
            "a body made required",
            vec![put(&format!("{body}/required"), json!(true))],
            Breaking,
            "addThing",
        ),
        ("a body removed", vec![drop(&body)], Breaking, "addThing"),
        (
            "a body where none was",
            vec![
                put(&format!("{DELETE}/x-stability"), json!("stable")),
                put(&format!("{GET}/requestBody"), json!({ "content": {} })),
            ],
            Breaking,
            "listThings",
        ),
        (
            "a media type more",
            vec![put(&format!("{body}/content/text~1csv"), json!({}))],
            Breaking,
            "addThing text/csv",
        ),
        (
            "another media type",
            vec![
                drop(&format!("{body}/content/application~1json")),
                put(&format!("{body}/content/text~1csv"), json!({})),
            ],
            Breaking,
            "addThing application/json",
        ),
        (
            "an optional field more",
            vec![put(&format!("{NEW_THING}/properties/note"), json!({ "type": "string" }))],
            Addition,
            "NewThing.note",
        ),
        (
            "a required field more",
            vec![
                put(&format!("{NEW_THING}/properties/note"), json!({ "type": "string" })),
                put(&format!("{NEW_THING}/required/-"), json!("note")),
            ],
            Breaking,
            "NewThing.note",
        ),
        (
            "a field made required",
            vec![put(&format!("{NEW_THING}/required/-"), json!("state"))],
            Breaking,
            "NewThing.state",
        ),
        (
            "a field made optional",
            vec![drop(&format!("{NEW_THING}/required/0"))],
            Addition,
            "NewThing.name",
        ),
        (
            "a field less",
            vec![drop(&format!("{NEW_THING}/properties/state"))],
            Breaking,
            "NewThing.state",
        ),
        (
            "null allowed",
            vec![put(&format!("{NEW_THING}/properties/state/nullable"), json!(true))],
            Breaking,
            "NewThing.state",
        ),
        (
            "a value less",
            vec![put(&format!("{NEW_THING}/properties/state/enum"), json!(["new"]))],
            Breaking,
            "used",
        ),
        (
            "a value more",
            vec![put(&format!("{NEW_THING}/properties/state/enum/-"), json!("broken"))],
            Addition,
            "broken",
        ),
        (
            "no pattern",
            vec![drop(&format!("{NEW_THING}/properties/name/pattern"))],
            Breaking,
            "NewThing.name",
        ),
        (
            "another pattern",
            vec![put(&format!("{NEW_THING}/properties/name/pattern"), json!("^[a-z]*$"))],
            Breaking,
            "NewThing.name",
        ),
        (
            "further fields allowed",
            vec![drop(&format!("{NEW_THING}/additionalProperties"))],
            Breaking,
            "NewThing",
        ),
    ]);
}
