//! What the document says of responses, in a form to check them with.

use super::fields::Fields;
use super::schema::{Reader, SchemaCheck};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the documents say of responses.
pub struct WireCheck {
    /// How they are read.
    pub reader: Reader,
    /// By path and method.
    pub operations: Vec<Operation>,
    /// What holds for a path that the document does not have.
    pub unknown_path: BTreeMap<String, DocumentedResponse>,
    /// Each document as a whole.
    pub documents: Vec<DocumentFacts>,
}

/// A document as a whole.
pub struct DocumentFacts {
    /// The version in its base address, such as `v1`.
    pub version: String,
    /// `info.version`.
    pub full_version: String,
    /// Every `code` that it lists.
    pub codes: Vec<String>,
}

/// An operation and its responses.
pub struct Operation {
    /// After the version, unless that is the first.
    pub id: String,
    /// In capitals.
    pub method: String,
    /// The segments of the path, the version among them; one in braces stands for any.
    pub path: Vec<String>,
    /// The operation in the document, without references.
    pub document: Value,
    /// By status, or range of statuses.
    pub responses: BTreeMap<String, DocumentedResponse>,
    /// What is answered to other methods of the path.
    pub other_method: BTreeMap<String, DocumentedResponse>,
}

impl Operation {
    /// Such as `v1`.
    pub fn version(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The names of its parameters in the query.
    pub fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let parameters = self.document["parameters"].as_array().into_iter().flatten();
        let of_query = parameters.filter(|parameter| parameter["in"] == "query");
        of_query.filter_map(|parameter| parameter["name"].as_str())
    }
}

/// What a response of some status must have.
pub struct DocumentedResponse {
    pub headers: Vec<DocumentedHeader>,
    /// None where there is no body.
    pub body: Option<SchemaCheck>,
    /// The fields of the body.
    pub fields: Option<Fields>,
    /// The codes that its examples show, with the statuses they come with.
    pub codes: Vec<(u16, String)>,
}

/// A header of a response.
pub struct DocumentedHeader {
    pub name: String,
    pub required: bool,
    pub value: SchemaCheck,
}

/// The responses of an operation, by status or range of statuses.
pub fn responses(responses: &Value, reader: Reader) -> BTreeMap<String, DocumentedResponse> {
    let responses = responses.as_object().unwrap().iter();
    responses.map(|(status, response)| (status.clone(), documented(response, reader))).collect()
}

fn documented(response: &Value, reader: Reader) -> DocumentedResponse {
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
                value: SchemaCheck::of(&header["schema"], reader),
            })
            .collect(),
        body: media.map(|media| SchemaCheck::of(&media["schema"], reader)),
        fields: media.map(|media| Fields::of(&media["schema"], "body")),
        codes: examples
            .map(|(code, example)| {
                let status = example["value"]["status"].as_u64().unwrap();
                (u16::try_from(status).unwrap(), code.clone())
            })
            .collect(),
    }
}
