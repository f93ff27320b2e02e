//! Parses the guide, `spec/guide.md`, into paragraphs and the sections on error codes. Also lists
//! the error codes of a document.

use serde_json::Value;

/// The JSON pointer to the schema that lists the error codes.
pub const CODE: &str = "/components/schemas/Error/properties/code";

/// A section on an error code, with a heading such as ``### 404 `order_not_found` ``.
#[derive(Debug)]
pub struct ErrorSection<'g> {
    pub status: &'g str,
    pub code: &'g str,
    /// The first paragraph of the section, as one line of text.
    pub meaning: String,
}

pub fn codes(document: &Value) -> impl Iterator<Item = &str> {
    let schema = document.pointer(CODE).unwrap_or(&Value::Null);
    let codes = schema["x-extensible-enum"].as_array().into_iter().flatten();
    codes.filter_map(Value::as_str)
}

/// Returns the sections whose headings have the form that [`ErrorSection`] shows.
pub fn error_sections(guide: &str) -> Vec<ErrorSection<'_>> {
    let parts = guide.split("\n### ").skip(1);
    let sections = parts.filter_map(|part| {
        let (title, text) = part.split_once('\n')?;
        let (status, code) = code_title(title)?;
        Some(ErrorSection { status, code, meaning: paragraphs(text).next()? })
    });
    sections.collect()
}

/// Parses the title of an error's section, such as ``409 `order_already_shipped` ``. Returns the
/// status and the error code.
pub fn code_title(title: &str) -> Option<(&str, &str)> {
    let (status, code) = title.split_once(" `")?;
    Some((status, code.strip_suffix('`')?))
}

pub fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let paragraphs = text.trim().split("\n\n");
    paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}
