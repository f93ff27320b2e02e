//! Extensible enums, and the codes of errors, which are one.

use super::{Parts, paragraphs};
use crate::client::errors::variant;
use crate::client::for_rust::{ExtensibleEnum, for_readers};
use serde_json::Value;
use std::collections::BTreeMap;

/// The extensible enums of a version.
pub fn values(parts: &Parts<'_>) -> String {
    let enums: String = parts
        .source
        .rust
        .enums
        .iter()
        .map(|of| {
            let about = of.schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let listed = of.schema.get("x-extensible-enum").and_then(Value::as_array);
            let listed = listed.into_iter().flatten().filter_map(Value::as_str);
            let values: Vec<_> = listed
                .filter_map(|text| Some((variant(text)?, text.to_string(), meaning(of, text))))
                .collect();
            extensible(&of.name, &of.noun, &[for_readers(about)], &values) + &serialized(&of.name)
        })
        .collect();
    format!(
        "//! The values that the document lists and that may be added to.\n\nuse serde::{{Deserialize, Deserializer, Serialize, Serializer}};\nuse std::fmt;\n\n{enums}"
    )
}

fn meaning(of: &ExtensibleEnum, text: &str) -> String {
    let meaning = of.schema.get("x-enumDescriptions").and_then(|of| of.get(text));
    meaning.and_then(Value::as_str).map(for_readers).unwrap_or_default()
}

/// An enum with a variant for all other texts.
fn extensible(
    name: &str,
    noun: &str,
    about: &[String],
    values: &[(String, String, String)],
) -> String {
    let variants: String = values
        .iter()
        .map(|(variant, text, meaning)| {
            format!(
                "{}{variant},\n",
                paragraphs(4, &[format!("`{text}`. {meaning}").trim_end().to_string()])
            )
        })
        .collect();
    let texts: String =
        values.iter().map(|(variant, text, _)| format!("Self::{variant} => {text:?},\n")).collect();
    let read: String =
        values.iter().map(|(variant, text, _)| format!("{text:?} => Self::{variant},\n")).collect();
    format!(
        "{}#[derive(Clone, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum {name} {{\n{variants}    \
         /// A {noun} that this version of the client does not know.\n    Other(String),\n}}\n\n\
         impl {name} {{\n    /// The {noun} as it is sent.\n    pub fn as_str(&self) -> &str {{\n        match self {{\n{texts}            Self::Other(text) => text,\n        }}\n    }}\n}}\n\n\
         impl From<&str> for {name} {{\n    fn from(text: &str) -> Self {{\n        match text {{\n{read}            other => Self::Other(other.to_string()),\n        }}\n    }}\n}}\n\n\
         impl fmt::Display for {name} {{\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{\n        f.write_str(self.as_str())\n    }}\n}}\n\n",
        paragraphs(0, about),
    )
}

fn serialized(name: &str) -> String {
    format!(
        "impl Serialize for {name} {{\n    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {{\n        serializer.serialize_str(self.as_str())\n    }}\n}}\n\n\
         impl<'de> Deserialize<'de> for {name} {{\n    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {{\n        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))\n    }}\n}}\n\n"
    )
}

/// The body of errors, and its codes.
pub fn errors(parts: &Parts<'_>) -> String {
    let errors = parts.errors();
    let values: Vec<_> = errors
        .codes
        .iter()
        .map(|code| (code.variant.clone(), code.text.clone(), code.about.clone()))
        .collect();
    let about = [
        format!("The `{}` of an error response.", errors.code),
        "The API may add codes: [`Other`](Self::Other) holds those that this version of the client does not know. Treat them by their status.".to_string(),
    ];
    let about = about.map(|text| text.replace("[`Other`]", "`\u{0}`"));
    let codes =
        extensible("ErrorCode", &errors.code, &about, &values).replace("`\u{0}`", "[`Other`]");
    let statuses: String = errors
        .codes
        .iter()
        .map(|code| format!("Self::{} => {},\n", code.variant, code.status))
        .collect();
    let all: String =
        errors.codes.iter().map(|code| format!("ErrorCode::{}, ", code.variant)).collect();
    let member = |name: &str| crate::names::snake(name).unwrap_or_default();
    let message = errors
        .message
        .as_ref()
        .map_or("\"\"".to_string(), |name| format!("&self.{}", member(name)));
    format!(
        "//! The body of errors, and its codes.\n\nuse std::fmt;\n\npub use super::http::types::{schema} as ErrorBody;\n\n{codes}\
         impl ErrorBody {{\n    /// The `{code}`, to match on.\n    pub fn error_code(&self) -> ErrorCode {{\n        ErrorCode::from(self.code_text())\n    }}\n\n    \
         pub(crate) fn code_text(&self) -> &str {{\n        &self.{field}\n    }}\n\n    \
         pub(crate) fn message_text(&self) -> &str {{\n        {message}\n    }}\n}}\n\n\
         #[cfg(feature = \"testing\")]\nimpl ErrorCode {{\n    /// All that the documents list.\n    pub(crate) const ALL: &[Self] = &[{all}];\n\n    \
         /// The status that it comes with; 500 if it is unknown.\n    pub(crate) fn status(&self) -> u16 {{\n        match self {{\n{statuses}            Self::Other(_) => 500,\n        }}\n    }}\n}}\n\n{}",
        body(parts),
        schema = errors.schema,
        code = errors.code,
        field = member(&errors.code),
    )
}

/// The body of an error of the test server.
fn body(parts: &Parts<'_>) -> String {
    let errors = parts.errors();
    let of = |key: &Option<String>, name| key.clone().map(|key| (key, name));
    let known = [
        Some((errors.code.clone(), "code")),
        of(&errors.message, "message"),
        of(&errors.status, "status"),
    ];
    let known: BTreeMap<String, &str> = known.into_iter().flatten().collect();
    let members = errors.example.as_object().into_iter().flatten().map(|(key, value)| {
        let value = known.get(key).map_or_else(|| value.to_string(), ToString::to_string);
        format!("{key:?}: {value}, ")
    });
    let unknown =
        ["code", "message", "status"].iter().filter(|name| !known.values().any(|of| of == *name));
    let unknown: String = unknown.map(|name| format!("let _ = {name};\n")).collect();
    format!(
        "/// The body of an error, as JSON.\n#[cfg(feature = \"testing\")]\npub(crate) fn error_body(code: &str, message: &str, status: u16) -> String {{\n{unknown}    serde_json::json!({{ {} }}).to_string()\n}}\n",
        members.collect::<String>(),
    )
}
