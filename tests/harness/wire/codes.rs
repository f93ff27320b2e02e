//! The values of `code` that the document lists in the field's description.

use serde_json::Value;

/// Every value, in the order of the list.
pub fn listed(document: &Value) -> Vec<String> {
    let description = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let text = description["description"].as_str().unwrap();
    let (_, list) = text.split_once("Today's codes: ").expect("the description lists the codes");
    list.split('`').skip(1).step_by(2).map(ToString::to_string).collect()
}
