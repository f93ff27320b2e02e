//! The documented operations and responses, compiled for checks.

use super::fields::Fields;
use super::schema::{Reader, SchemaCheck};
use serde_json::Value;
use std::collections::BTreeMap;

/// The operations and responses of the documents, compiled for checks.
pub struct WireCheck {
    /// The strictness: whether undocumented additions are violations.
    pub reader: Reader,
    /// All operations.
    pub operations: Vec<Operation>,
    /// The responses to paths that are not in the documents, by status or range of statuses.
    pub unknown_path: BTreeMap<String, DocumentedResponse>,
    /// Facts about each document.
    pub documents: Vec<DocumentFacts>,
}

/// A code of `Error.code`.
pub struct ListedCode {
    /// The code.
    pub name: String,
    /// True if only the proxy sends the code, so that no test can make the server send it.
    pub is_from_proxy: bool,
}

/// Facts about a document.
pub struct DocumentFacts {
    /// The version in its base address, such as `v1`.
    pub version: String,
    /// `info.version`, such as `1.2.0`.
    pub full_version: String,
    /// All values of `code` in the document.
    pub codes: Vec<ListedCode>,
}

/// An operation and its responses.
pub struct Operation {
    /// The operation's id, with the version as prefix except for `v1`.
    pub id: String,
    /// The method in capitals.
    pub method: String,
    /// The segments of the path, beginning with the version. A segment in braces matches any text.
    pub path: Vec<String>,
    /// The operation in the document, with references resolved.
    pub document: Value,
    /// The responses by status or range of statuses.
    pub responses: BTreeMap<String, DocumentedResponse>,
    /// The responses to other methods of the path, by status or range of statuses.
    pub other_method: BTreeMap<String, DocumentedResponse>,
}

impl Operation {
    /// The version, such as `v1`.
    pub fn version(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The names of the query parameters.
    pub fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let parameters = self.document["parameters"].as_array().into_iter().flatten();
        let query_parameters = parameters.filter(|parameter| parameter["in"] == "query");
        query_parameters.filter_map(|parameter| parameter["name"].as_str())
    }
}

/// The documented response for a status.
pub struct DocumentedResponse {
    pub headers: Vec<DocumentedHeader>,
    /// The schema of the body; `None` if there is no body.
    pub body: Option<SchemaCheck>,
    /// The fields of the body.
    pub fields: Option<Fields>,
    /// The error codes in the examples, each with its status.
    pub codes: Vec<(u16, String)>,
}

/// A documented header of a response.
pub struct DocumentedHeader {
    pub name: String,
    pub required: bool,
    pub value: SchemaCheck,
}

/// Compiles the responses of an operation, by status or range of statuses.
pub fn responses(responses: &Value, reader: Reader) -> BTreeMap<String, DocumentedResponse> {
    let responses = responses.as_object().unwrap().iter();
    responses
        .map(|(status, response)| (status.clone(), compile_response(response, reader)))
        .collect()
}

fn compile_response(response: &Value, reader: Reader) -> DocumentedResponse {
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
                value: SchemaCheck::new(&header["schema"], reader),
            })
            .collect(),
        body: media.map(|media| SchemaCheck::new(&media["schema"], reader)),
        fields: media.map(|media| Fields::new(&media["schema"], "body")),
        codes: examples
            .map(|(code, example)| {
                let status = example["value"]["status"].as_u64().unwrap();
                (u16::try_from(status).unwrap(), code.clone())
            })
            .collect(),
    }
}
