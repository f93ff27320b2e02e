//! Extracts from an OpenAPI document the data that several pages show.

use crate::samples;
use serde_json::Value;

pub struct Operation<'d> {
    /// The path below the base path.
    pub path: &'d str,
    /// The method in upper case.
    pub method: String,
    /// The name of the operation's first tag.
    pub tag: &'d str,
    pub value: &'d Value,
}

impl Operation<'_> {
    /// Returns the anchor of the operation on the reference page, in Scalar's format.
    pub fn anchor(&self) -> String {
        format!("tag/{}/{}{}", self.tag, self.method, self.path)
    }

    /// Returns each code sample as the displayed name of the language and a code block in Markdown.
    pub fn samples(&self) -> impl Iterator<Item = (&str, String)> {
        let samples = self.value[samples::FIELD].as_array().into_iter().flatten();
        samples.map(|sample| {
            let [lang, label, source] = ["lang", "label", "source"].map(|key| text(&sample[key]));
            (label, format!("```{lang}\n{}\n```\n", source))
        })
    }

    pub fn is_deprecated(&self) -> bool {
        self.value["deprecated"] == true
    }
}

/// Returns all operations, the deprecated ones last.
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

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
