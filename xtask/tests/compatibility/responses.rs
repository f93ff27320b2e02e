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
            "listThings 503 Retry-After",
        ),
        (
            "a header removed",
            vec![drop(&format!("{OK}/headers/X-Total"))],
            Breaking,
            "listThings 200 X-Total",
        ),
        (
            "an optional header removed",
            vec![drop(&format!("{OK}/headers/X-Hint"))],
            Breaking,
            "listThings 200 X-Hint",
        ),
        (
            "all headers removed",
            vec![drop(&format!("{FAILED}/headers"))],
            Breaking,
            "listThings 401 Retry-After",
        ),
        (
            "a header added",
            vec![put(&format!("{OK}/headers/X-Page"), json!({ "schema": { "type": "integer" } }))],
            Addition,
            "listThings 200 X-Page",
        ),
        (
            "a header made optional",
            vec![drop(&format!("{OK}/headers/X-Total/required"))],
            Breaking,
            "listThings 200 X-Total",
        ),
        (
            "a header made sure",
            vec![put(&format!("{OK}/headers/X-Hint/required"), json!(true))],
            Addition,
            "listThings 200 X-Hint",
        ),
        (
            "a header of another type",
            vec![put(&format!("{OK}/headers/X-Total/schema/type"), json!("string"))],
            Breaking,
            "listThings 200 X-Total",
        ),
        (
            "a header's lower bound",
            vec![drop(&format!("{OK}/headers/X-Total/schema/minimum"))],
            Breaking,
            "listThings 200 X-Total",
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
