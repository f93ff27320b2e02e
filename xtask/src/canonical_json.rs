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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_key_is_refused_with_its_place() {
        let text = "{\n  \"a\": 1,\n  \"b\": []\n}\n";
        assert_eq!(print(&parse("x.json", text).unwrap()), text);
        let doubled = text.replace("  \"b\"", "  \"a\": 1,\n  \"b\"");
        let error = parse("x.json", &doubled).unwrap_err().to_string();
        assert_eq!(error, "x.json#/a: stands twice in its object; remove one of the two");
    }

    #[test]
    fn invalid_json_is_reported_with_file_line_and_column() {
        for (text, place) in
            [("{\n  \"a\": 1,\n}", "x.json:3:1:"), ("{} x", "x.json:1:4:"), ("", "x.json:1:0:")]
        {
            let message = parse("x.json", text).unwrap_err().to_string();
            assert!(message.starts_with(place), "{message}");
        }
    }
}
