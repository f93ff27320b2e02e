//! JSON in canonical form: as `serde_json` prints it with indentation. Equal
//! documents then have equal texts. A key that stands twice in an object, of which
//! `serde_json` keeps only the last, is refused.

use serde_json::Value;

/// Reads a JSON text. The error begins with file, line and column, in the form
/// that editors open.
pub fn parse(name: &str, text: &str) -> anyhow::Result<Value> {
    serde_json::from_str::<Value>(text).map_err(|error| {
        anyhow::anyhow!("{name}:{}:{}: invalid JSON: {error}", error.line(), error.column())
    })?;
    contract::parse(text).map_err(|doubled| {
        let lines = doubled.0.iter().map(|key| format!("{name}#{key}"));
        anyhow::anyhow!(lines.collect::<Vec<_>>().join("\n  "))
    })
}

/// The canonical text of a value.
pub fn print(value: &Value) -> String {
    format!("{value:#}\n")
}
