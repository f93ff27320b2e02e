//! The operations and responses of the documents, prepared for checks.

use super::fields::Fields;
use super::schema::{Reader, SchemaCheck};
use serde_json::Value;
use std::collections::BTreeMap;

pub struct WireCheck {
    /// Decides whether undocumented additions are violations.
    pub reader: Reader,
    pub operations: Vec<Operation>,
    /// The responses to paths that are not in the documents, keyed by status ("404") or range
    /// ("5XX").
    pub unknown_path: BTreeMap<String, DocumentedResponse>,
    pub documents: Vec<DocumentFacts>,
}

/// A value that a document lists for the field `code` of errors.
pub struct ListedCode {
    pub name: String,
    /// True if only a proxy sends the code, so tests cannot get the code from the server.
    pub is_from_proxy: bool,
}

pub struct DocumentFacts {
    /// The version in the document's base URL, such as `v1`.
    pub version: String,
    /// `info.version`, such as `1.2.0`.
    pub full_version: String,
    pub codes: Vec<ListedCode>,
}

pub struct Operation {
    /// The operation's id. It begins with the version, except in `v1`.
    pub id: String,
    /// The method, in capitals.
    pub method: String,
    /// The segments of the path, beginning with the version. A segment in braces matches any
    /// string that is not empty.
    pub path: Vec<String>,
    /// The operation as the document describes it, with references resolved.
    pub document: Value,
    /// The responses, keyed by status ("404") or range ("5XX").
    pub responses: BTreeMap<String, DocumentedResponse>,
    /// The responses to other methods on the same path, keyed like `responses`.
    pub other_method: BTreeMap<String, DocumentedResponse>,
}

impl Operation {
    /// Returns the version that the path begins with, such as `v1`.
    pub fn version(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    pub fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let parameters = self.document["parameters"].as_array().into_iter().flatten();
        let query_parameters = parameters.filter(|parameter| parameter["in"] == "query");
        query_parameters.filter_map(|parameter| parameter["name"].as_str())
    }
}

pub struct DocumentedResponse {
    pub headers: Vec<DocumentedHeader>,
    /// The body's schema; `None` if there must be no body.
    pub body: Option<SchemaCheck>,
    pub fields: Option<Fields>,
    /// The error codes in the response's examples, each with its status.
    pub codes: Vec<(u16, String)>,
}

pub struct DocumentedHeader {
    pub name: String,
    pub required: bool,
    pub value: SchemaCheck,
}

/// Compiles an operation's documented responses for checks, keyed by status ("404") or range
/// ("5XX").
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
