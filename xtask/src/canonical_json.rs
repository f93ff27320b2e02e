//! JSON in canonical form: as `serde_json` prints it with indentation. Equal
//! documents then have equal texts, and a key that stands twice in an object,
//! of which `serde_json` keeps only the last, is a line too many.

use serde_json::Value;

/// Reads a JSON text. The error begins with file, line and column, in the form
/// that editors open.
pub fn parse(name: &str, text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        anyhow::anyhow!("{name}:{}:{}: invalid JSON: {error}", error.line(), error.column())
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
    fn a_doubled_key_is_not_canonical() {
        let text = "{\n  \"a\": 1,\n  \"b\": []\n}\n";
        assert_eq!(print(&parse("x.json", text).unwrap()), text);
        let doubled = text.replace("  \"b\"", "  \"a\": 1,\n  \"b\"");
        assert_eq!(print(&parse("x.json", &doubled).unwrap()), text);
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
