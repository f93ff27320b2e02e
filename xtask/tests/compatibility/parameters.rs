//! What callers send in addition to a body.

use super::table::{GET, LIMIT, SORT, TRACE, assert_rows, drop, put};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};

#[test]
fn parameters() {
    let parameter = |name: &str, required: bool| json!({ "in": "query", "name": name, "required": required, "schema": { "type": "string" } });
    let list = format!("{GET}/parameters/-");
    assert_rows(vec![
        ("a parameter removed", vec![drop(SORT)], Breaking, "listThings sort"),
        (
            "an optional parameter",
            vec![put(&list, parameter("colour", false))],
            Addition,
            "listThings colour",
        ),
        (
            "a required parameter",
            vec![put(&list, parameter("colour", true))],
            Breaking,
            "listThings colour",
        ),
        (
            "a parameter made required",
            vec![put(&format!("{LIMIT}/required"), json!(true))],
            Breaking,
            "listThings limit",
        ),
        (
            "a parameter made optional",
            vec![put(&format!("{TRACE}/required"), json!(false))],
            Addition,
            "listThings X-Trace",
        ),
        (
            "a parameter moved",
            vec![put(&format!("{SORT}/in"), json!("header"))],
            Breaking,
            "listThings sort",
        ),
        (
            "a lower greatest value",
            vec![put(&format!("{LIMIT}/schema/maximum"), json!(50))],
            Breaking,
            "listThings limit",
        ),
        (
            "a higher greatest value",
            vec![put(&format!("{LIMIT}/schema/maximum"), json!(500))],
            Addition,
            "listThings limit",
        ),
        (
            "no greatest value",
            vec![drop(&format!("{LIMIT}/schema/maximum"))],
            Addition,
            "listThings limit",
        ),
        (
            "a higher least value",
            vec![put(&format!("{LIMIT}/schema/minimum"), json!(2))],
            Breaking,
            "listThings limit",
        ),
        (
            "a shorter text",
            vec![put(&format!("{TRACE}/schema/maxLength"), json!(32))],
            Breaking,
            "listThings X-Trace",
        ),
        (
            "a choice less",
            vec![put(&format!("{SORT}/schema/enum"), json!(["name"]))],
            Breaking,
            "price",
        ),
        (
            "a choice more",
            vec![put(&format!("{SORT}/schema/enum/-"), json!("age"))],
            Addition,
            "age",
        ),
        ("any choice", vec![drop(&format!("{SORT}/schema/enum"))], Addition, "listThings sort"),
        (
            "choices in another order",
            vec![put(&format!("{SORT}/schema/enum"), json!(["price", "name"]))],
            Neutral,
            "",
        ),
        (
            "a pattern",
            vec![put(&format!("{SORT}/schema/pattern"), json!("^n"))],
            Breaking,
            "listThings sort",
        ),
        (
            "another type",
            vec![put(&format!("{LIMIT}/schema/type"), json!("string"))],
            Breaking,
            "listThings limit",
        ),
        (
            "another format",
            vec![put(&format!("{LIMIT}/schema/format"), json!("int64"))],
            Breaking,
            "listThings limit",
        ),
        (
            "another default",
            vec![put(&format!("{LIMIT}/schema/default"), json!(10))],
            Breaking,
            "listThings limit",
        ),
        (
            "another style",
            vec![put(&format!("{LIMIT}/style"), json!("spaceDelimited"))],
            Breaking,
            "listThings limit",
        ),
        (
            "a parameter described",
            vec![put(&format!("{LIMIT}/description"), json!("How many"))],
            Neutral,
            "",
        ),
    ]);
}
