//! Statuses, and what callers receive around a body.

use super::table::{FAILED, GET, OK, POST, assert_rows, drop, put};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};

#[test]
fn statuses_and_headers() {
    let failed = || json!({ "$ref": "#/components/responses/Failed" });
    assert_rows(vec![
        ("a success removed", vec![drop(OK)], Breaking, "listThings 200"),
        (
            "an error removed",
            vec![drop(&format!("{GET}/responses/401"))],
            Breaking,
            "listThings 401",
        ),
        (
            "an error added",
            vec![put(&format!("{GET}/responses/403"), failed())],
            Addition,
            "listThings 403",
        ),
        (
            "a success added",
            vec![put(&format!("{POST}/responses/202"), json!({ "description": "Later" }))],
            Breaking,
            "addThing 202",
        ),
        (
            "a default added",
            vec![put(&format!("{POST}/responses/default"), failed())],
            Breaking,
            "addThing default",
        ),
        (
            "an error of a range that keeps its promise",
            vec![put(&format!("{GET}/responses/503"), failed())],
            Addition,
            "listThings 503",
        ),
        (
            "an error of a range that does not",
            vec![put(&format!("{GET}/responses/503"), json!({ "description": "Gone" }))],
            Breaking,
            "listThings 503 retry-after",
        ),
        (
            "a range in place of its statuses",
            vec![
                drop(&format!("{GET}/responses/401")),
                put(&format!("{GET}/responses/4XX"), failed()),
            ],
            Addition,
            "listThings 4XX",
        ),
        (
            "a header removed",
            vec![drop(&format!("{OK}/headers/X-Total"))],
            Breaking,
            "listThings 200 x-total",
        ),
        (
            "an optional header removed",
            vec![drop(&format!("{OK}/headers/X-Hint"))],
            Breaking,
            "listThings 200 x-hint",
        ),
        (
            "all headers removed",
            vec![drop(&format!("{FAILED}/headers"))],
            Breaking,
            "listThings 401 retry-after",
        ),
        (
            "a header added",
            vec![put(&format!("{OK}/headers/X-Page"), json!({ "schema": { "type": "integer" } }))],
            Addition,
            "listThings 200 x-page",
        ),
        (
            "a header in another letter case",
            vec![
                drop(&format!("{OK}/headers/X-Hint")),
                put(&format!("{OK}/headers/x-hint"), json!({ "schema": { "type": "string" } })),
            ],
            Neutral,
            "",
        ),
        (
            "a header made optional",
            vec![drop(&format!("{OK}/headers/X-Total/required"))],
            Breaking,
            "listThings 200 x-total",
        ),
        (
            "a header made sure",
            vec![put(&format!("{OK}/headers/X-Hint/required"), json!(true))],
            Addition,
            "listThings 200 x-hint",
        ),
        (
            "a header of another type",
            vec![put(&format!("{OK}/headers/X-Total/schema/type"), json!("string"))],
            Breaking,
            "listThings 200 x-total",
        ),
        (
            "a header's lower bound",
            vec![drop(&format!("{OK}/headers/X-Total/schema/minimum"))],
            Breaking,
            "listThings 200 x-total",
        ),
        (
            "a link",
            vec![put(&format!("{OK}/links"), json!({ "next": {} }))],
            Breaking,
            "listThings 200",
        ),
        (
            "a response described",
            vec![put(&format!("{FAILED}/description"), json!("No"))],
            Neutral,
            "",
        ),
    ]);
}
