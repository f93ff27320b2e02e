//! What the pages read from a document.

use crate::samples;
use serde_json::Value;

/// An operation.
pub struct Operation<'d> {
    /// Its path below the base path.
    pub path: &'d str,
    /// In capitals.
    pub method: String,
    /// The name of its tag.
    pub tag: &'d str,
    /// The operation object.
    pub value: &'d Value,
}

impl Operation<'_> {
    /// Its place on the reference page, as Scalar names it.
    pub fn anchor(&self) -> String {
        format!("tag/{}/{}{}", self.tag, self.method, self.path)
    }

    /// The programs to copy: the name of the language, and the program as a block of Markdown.
    pub fn samples(&self) -> impl Iterator<Item = (&str, String)> {
        let samples = self.value[samples::FIELD].as_array().into_iter().flatten();
        samples.map(|sample| {
            let [lang, label, source] = ["lang", "label", "source"].map(|key| text(&sample[key]));
            (label, format!("```{lang}\n{}\n```\n", source))
        })
    }

    /// Whether callers should no longer use it.
    pub fn is_deprecated(&self) -> bool {
        self.value["deprecated"] == true
    }
}

/// All operations, the deprecated ones last.
pub fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut operations: Vec<_> = paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, value)| {
                let tag = value.pointer("/tags/0").map(text).unwrap_or_default();
                Operation { path, method: method.to_uppercase(), tag, value }
            })
        })
        .collect();
    operations.sort_by_key(Operation::is_deprecated);
    operations
}

/// The status and the code of the title of a section about a code, which `cargo xtask check`
/// holds against the fields for programs.
pub fn code_title(title: &str) -> Option<(&str, &str)> {
    let (status, code) = title.split_once(" *")?;
    Some((status, code.strip_suffix('*')?))
}

/// The string, or nothing.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The text without line breaks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
