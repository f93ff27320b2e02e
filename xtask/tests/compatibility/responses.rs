//! Statuses, and what callers receive around a body.

use crate::table::{FAILED, GET, OK, POST, assert_rows, drop, put};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};

#[test]
fn statuses_and_headers() {
    let failed = || json!({ "$ref": "#/components/responses/Failed" });
    assert_rows(vec![
        ("a success removed", vec![drop(OK)], Breaking, "200"),
        ("an error removed", vec![drop(&format!("{GET}/responses/401"))], Breaking, "401"),
        ("an error added", vec![put(&format!("{GET}/responses/403"), failed())], Addition, "403"),
        (
            "a success added",
            vec![put(&format!("{POST}/responses/202"), json!({ "description": "Later" }))],
            Breaking,
            "202",
        ),
        (
            "a default added",
            vec![put(&format!("{POST}/responses/default"), failed())],
            Breaking,
            "default",
        ),
        (
            "an error of a range that keeps its promise",
            vec![put(&format!("{GET}/responses/503"), failed())],
            Addition,
            "503",
        ),
        (
            "an error of a range that does not",
            vec![put(&format!("{GET}/responses/503"), json!({ "description": "Gone" }))],
            Breaking,
            "retry-after",
        ),
        (
            "a range in place of its statuses",
            vec![
                drop(&format!("{GET}/responses/401")),
                put(&format!("{GET}/responses/4XX"), failed()),
            ],
            Breaking,
            "401",
        ),
        ("a header removed", vec![drop(&format!("{OK}/headers/X-Total"))], Breaking, "x-total"),
        (
            "an optional header removed",
            vec![drop(&format!("{OK}/headers/X-Hint"))],
            Breaking,
            "x-hint",
        ),
        ("all headers removed", vec![drop(&format!("{FAILED}/headers"))], Breaking, "retry-after"),
        (
            "a header added",
            vec![put(&format!("{OK}/headers/X-Page"), json!({ "schema": { "type": "integer" } }))],
            Addition,
            "x-page",
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
            "x-total",
        ),
        (
            "a header made sure",
            vec![put(&format!("{OK}/headers/X-Hint/required"), json!(true))],
            Addition,
            "x-hint",
        ),
        (
            "a header of another type",
            vec![put(&format!("{OK}/headers/X-Total/schema/type"), json!("string"))],
            Breaking,
            "x-total",
        ),
        (
            "a header's lower bound",
            vec![drop(&format!("{OK}/headers/X-Total/schema/minimum"))],
            Breaking,
            "x-total",
        ),
        (
            "a link",
            vec![put(&format!("{OK}/links"), json!({ "next": {} }))],
            Breaking,
            "listThings",
        ),
        (
            "a response described",
            vec![put(&format!("{FAILED}/description"), json!("No"))],
            Neutral,
            "",
        ),
    ]);
}
