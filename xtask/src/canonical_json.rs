//! Parses and prints JSON in canonical form. The names in a schema's `required` are sorted, because
//! their order has no meaning. Duplicate keys are an error, because `serde_json` would keep only
//! the last value.

use serde_json::Value;

/// Members with arbitrary data. Inside that data, `required` is an ordinary name, so the value of
/// `required` is not sorted.
const DATA: [&str; 3] = ["example", "examples", "default"];

/// Parses a JSON text and sorts each `required`. A syntax error begins with `file:line:column`,
/// which many editors turn into a link.
pub fn parse(name: &str, text: &str) -> anyhow::Result<Value> {
    serde_json::from_str::<Value>(text).map_err(|error| {
        anyhow::anyhow!("{name}:{}:{}: invalid JSON: {error}", error.line(), error.column())
    })?;
    let mut value = codegen::parse(text).map_err(|doubled| {
        let lines = doubled.0.iter().map(|key| format!("{name}#{key}"));
        anyhow::anyhow!(lines.collect::<Vec<_>>().join("\n  "))
    })?;
    sort_required(&mut value);
    Ok(value)
}

fn sort_required(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str()))
            {
                match member {
                    Value::Array(names) if key == "required" => {
                        names.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
                    }
                    member => sort_required(member),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(sort_required),
        _ => {}
    }
}

pub fn print(value: &Value) -> String {
    format!("{value:#}\n")
}
