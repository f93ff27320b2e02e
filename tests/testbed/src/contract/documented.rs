//! What the document says of responses, in a form to check them with.

use super::schema::SchemaCheck;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the documents say of responses.
pub struct Contract {
    /// By path and method.
    pub operations: Vec<Operation>,
    /// What holds for a path that the document does not have.
    pub unknown_path: BTreeMap<String, DocumentedResponse>,
    /// Every `code` that the description of the field lists, by version.
    pub codes: Vec<(&'static str, Vec<String>)>,
}

/// An operation and its responses.
pub struct Operation {
    /// After the version, unless that is the first.
    pub id: String,
    /// In capitals.
    pub method: String,
    /// The segments of the path, the version among them; one in braces stands for any.
    pub path: Vec<String>,
    /// By status, or range of statuses.
    pub responses: BTreeMap<String, DocumentedResponse>,
    /// What is answered to other methods of the path.
    pub other_method: BTreeMap<String, DocumentedResponse>,
}

/// What a response of some status must have.
pub struct DocumentedResponse {
    pub headers: Vec<DocumentedHeader>,
    /// None where there is no body.
    pub body: Option<SchemaCheck>,
    /// The codes that its examples show, with the statuses they come with.
    pub codes: Vec<(u16, String)>,
}

/// A header of a response.
pub struct DocumentedHeader {
    pub name: String,
    pub required: bool,
    pub value: SchemaCheck,
}

pub fn header_label(name: &str) -> String {
    format!(" header {name}")
}

pub fn code_label(code: &str) -> String {
    format!(" code {code}")
}

/// The responses of an operation, by status or range of statuses.
pub fn responses(responses: &Value) -> BTreeMap<String, DocumentedResponse> {
    let responses = responses.as_object().unwrap().iter();
    responses.map(|(status, response)| (status.clone(), documented(response))).collect()
}

fn documented(response: &Value) -> DocumentedResponse {
    let headers = response["headers"].as_object().into_iter().flatten();
    let media = response["content"].as_object().and_then(|content| {
        assert_eq!(content.keys().collect::<Vec<_>>(), ["application/json"]);
        content.get("application/json")
    });
    let examples = media.and_then(|media| media["examples"].as_object()).into_iter().flatten();
    DocumentedResponse {
        headers: headers
            .map(|(name, header)| DocumentedHeader {
                name: name.to_lowercase(),
                required: header["required"] == true,
                value: SchemaCheck::of(&header["schema"]),
            })
            .collect(),
        body: media.map(|media| SchemaCheck::of(&media["schema"])),
        codes: examples
            .map(|(code, example)| {
                let status = example["value"]["status"].as_u64().unwrap();
                (u16::try_from(status).unwrap(), code.clone())
            })
            .collect(),
    }
}
