//! What callers receive as a body.

use super::table::{FAILED, NEW_THING, OK, POST, THING, assert_rows, drop, put, shop};
use serde_json::json;
use xtask::compatibility::Verdict::{Addition, Breaking, Neutral};

#[test]
fn response_bodies() {
    let field = |name: &str, keyword: &str| format!("{THING}/properties/{name}/{keyword}");
    let media = format!("{OK}/content");
    assert_rows(vec![
        (
            "a field removed",
            vec![drop(&format!("{THING}/properties/note"))],
            Breaking,
            "Thing.note",
        ),
        (
            "a field added",
            vec![put(&format!("{THING}/properties/age"), json!({ "type": "integer" }))],
            Addition,
            "Thing.age",
        ),
        (
            "a required field added",
            vec![
                put(&format!("{THING}/properties/age"), json!({ "type": "integer" })),
                put(&format!("{THING}/required/-"), json!("age")),
            ],
            Addition,
            "Thing.age",
        ),
        (
            "a field renamed",
            vec![
                drop(&format!("{THING}/properties/note")),
                put(&format!("{THING}/properties/remark"), json!({ "type": "string" })),
            ],
            Breaking,
            "Thing.note",
        ),
        (
            "a field made optional",
            vec![drop(&format!("{THING}/required/1"))],
            Breaking,
            "Thing.name",
        ),
        (
            "a field made required",
            vec![put(&format!("{THING}/required/-"), json!("state"))],
            Addition,
            "Thing.state",
        ),
        (
            "a field made nullable",
            vec![put(&field("name", "nullable"), json!(true))],
            Breaking,
            "Thing.name",
        ),
        ("a field never null", vec![drop(&field("note", "nullable"))], Breaking, "Thing.note"),
        ("another type", vec![put(&field("id", "type"), json!("string"))], Breaking, "Thing.id"),
        (
            "integer to number",
            vec![put(&field("id", "type"), json!("number"))],
            Breaking,
            "Thing.id",
        ),
        ("another format", vec![put(&field("id", "format"), json!("int32"))], Breaking, "Thing.id"),
        ("no format", vec![drop(&field("id", "format"))], Breaking, "Thing.id"),
        (
            "a format",
            vec![put(&field("name", "format"), json!("date-time"))],
            Breaking,
            "Thing.name",
        ),
        ("a value more", vec![put(&field("state", "enum/-"), json!("broken"))], Breaking, "broken"),
        ("a value less", vec![put(&field("state", "enum"), json!(["new"]))], Addition, "used"),
        ("any value", vec![drop(&field("state", "enum"))], Breaking, "Thing.state"),
        (
            "only some values",
            vec![put(&field("name", "enum"), json!(["a"]))],
            Addition,
            "Thing.name",
        ),
        (
            "a longer text",
            vec![put(&field("name", "maxLength"), json!(81))],
            Breaking,
            "Thing.name",
        ),
        (
            "a shorter text",
            vec![put(&field("name", "maxLength"), json!(79))],
            Addition,
            "Thing.name",
        ),
        ("an empty text", vec![drop(&field("name", "minLength"))], Breaking, "Thing.name"),
        (
            "a lower least value",
            vec![put(&field("price", "minimum"), json!(-1))],
            Breaking,
            "Thing.price",
        ),
        (
            "the least value itself",
            vec![put(&field("price", "exclusiveMinimum"), json!(false))],
            Breaking,
            "Thing.price",
        ),
        (
            "a bound that is a number",
            vec![put(&field("price", "exclusiveMinimum"), json!(0))],
            Breaking,
            "Thing.price",
        ),
        (
            "more items",
            vec![put(&format!("{media}/application~1json/schema/maxItems"), json!(1000))],
            Breaking,
            "listThings 200",
        ),
        (
            "other items",
            vec![put(
                &format!("{media}/application~1json/schema/items"),
                json!({ "type": "string" }),
            )],
            Breaking,
            "listThings 200",
        ),
        (
            "no longer a list",
            vec![put(&format!("{media}/application~1json/schema"), json!({ "type": "object" }))],
            Breaking,
            "listThings 200",
        ),
        (
            "a schema renamed",
            vec![
                put("/components/schemas/Ware", shop()["components"]["schemas"]["Thing"].clone()),
                put(
                    "/components/schemas/Ware/properties/parts/items/$ref",
                    json!("#/components/schemas/Ware"),
                ),
                put(
                    &format!("{media}/application~1json/schema/items/$ref"),
                    json!("#/components/schemas/Ware"),
                ),
                drop(THING),
            ],
            Breaking,
            "Thing",
        ),
        (
            "a schema removed that nothing uses",
            vec![
                put(&format!("{POST}/requestBody/content/application~1json/schema"), json!({})),
                drop(NEW_THING),
            ],
            Breaking,
            "NewThing",
        ),
        (
            "a schema added that nothing uses",
            vec![put("/components/schemas/Ware", json!({}))],
            Neutral,
            "",
        ),
        ("a title", vec![put(&format!("{THING}/title"), json!("Ware"))], Breaking, "Thing"),
        ("a default", vec![put(&field("note", "default"), json!(""))], Breaking, "Thing.note"),
        (
            "further fields ruled out",
            vec![put(&format!("{THING}/additionalProperties"), json!(false))],
            Breaking,
            "Thing",
        ),
        (
            "other labels",
            vec![put(&field("labels", "additionalProperties/type"), json!("integer"))],
            Breaking,
            "Thing.labels",
        ),
        (
            "any labels",
            vec![drop(&field("labels", "additionalProperties"))],
            Breaking,
            "Thing.labels",
        ),
        (
            "a field in allOf",
            vec![put(&field("size", "allOf/0/properties/height"), json!({ "type": "integer" }))],
            Breaking,
            "Thing.size",
        ),
        (
            "a schema more in allOf",
            vec![put(&field("size", "allOf/-"), json!({ "minProperties": 1 }))],
            Breaking,
            "Thing.size",
        ),
        (
            "words in oneOf",
            vec![put(&field("owner", "oneOf/0/description"), json!("Who"))],
            Breaking,
            "Thing.owner",
        ),
        (
            "a longer list of types in oneOf",
            vec![put(&field("owner", "oneOf/-"), json!({ "type": "boolean" }))],
            Breaking,
            "Thing.owner",
        ),
        (
            "an unknown keyword",
            vec![put(&field("name", "contentEncoding"), json!("base64"))],
            Breaking,
            "Thing.name",
        ),
        (
            "a media type removed",
            vec![drop(&format!("{media}/text~1csv"))],
            Breaking,
            "listThings 200 text/csv",
        ),
        (
            "a media type added",
            vec![put(&format!("{media}/text~1html"), json!({}))],
            Breaking,
            "listThings 200 text/html",
        ),
        (
            "another media type for errors",
            vec![
                drop(&format!("{FAILED}/content/application~1json")),
                put(&format!("{FAILED}/content/application~1problem+json"), json!({})),
            ],
            Breaking,
            "listThings 401 application/json",
        ),
        (
            "a body where none was",
            vec![put(&format!("{POST}/responses/204/content"), json!({ "text/plain": {} }))],
            Breaking,
            "addThing 204 text/plain",
        ),
        (
            "an example",
            vec![put(&format!("{media}/application~1json/example"), json!([1]))],
            Neutral,
            "",
        ),
        (
            "a field described",
            vec![put(&field("name", "description"), json!("Its name"))],
            Neutral,
            "",
        ),
    ]);
}
