//! Prepares the schemas of a document for a validator of JSON Schema. By itself, the validator
//! ignores the formats of integers and allows fields that a schema does not list.

use crate::subset;
use serde_json::{Value, json};

/// Returns a stricter version of a schema, with the bounds of `int32` and `int64`. If `is_closed`,
/// the result forbids fields that the schema does not list. The caller must resolve references
/// first.
///
/// Fails if the schema is outside the supported subset, because a validator may ignore unknown
/// keywords.
pub fn strict_schema(schema: &Value, is_closed: bool) -> Result<Value, String> {
    let mut strict = schema.as_object().cloned().ok_or(format!("{schema} is not a schema"))?;
    if let Some(unknown) = subset::outside_of_schema(schema) {
        let list = "xtask/codegen/src/subset.rs";
        return Err(format!("the generator does not support {unknown}: see {list}"));
    }
    if let Some(Value::Object(properties)) = strict.get_mut("properties") {
        for property in properties.values_mut() {
            *property = strict_schema(property, is_closed)?;
        }
        if is_closed {
            strict.insert("additionalProperties".to_string(), json!(false));
        }
    }
    if let Some(items) = strict.get_mut("items") {
        *items = strict_schema(items, is_closed)?;
    }
    let bounds = match schema["format"].as_str() {
        Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Some("int64") => Some((i64::MIN, i64::MAX)),
        _ => None,
    };
    if let Some((min, max)) = bounds {
        strict.entry("minimum").or_insert(json!(min));
        strict.entry("maximum").or_insert(json!(max));
    }
    Ok(strict.into())
}
