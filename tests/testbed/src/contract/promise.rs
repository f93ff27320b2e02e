//! What a document promises of responses, one thing at a time.

use super::documented::{DocumentedResponse, Operation};
use super::response::{code_label, header_label};
use std::collections::BTreeSet;

/// One thing that responses show, if the document is right.
pub struct Promise<'a> {
    /// The operation that shows it; none, if any response may.
    pub operation: Option<&'a Operation>,
    /// The operation and the status.
    place: String,
    /// What of that response; nothing, if its status is enough.
    pub what: String,
    /// Whether it is enough that another operation of the version shows it, because both use one
    /// schema and not every response has it.
    is_shared: bool,
}

impl<'a> Promise<'a> {
    /// All that an operation promises.
    pub fn of_operation(operation: &'a Operation) -> Vec<Promise<'a>> {
        let responses = operation.responses.iter();
        responses
            .flat_map(|(status, documented)| {
                of_response(documented).into_iter().map(move |(what, is_shared)| Promise {
                    operation: Some(operation),
                    place: format!("{} {status}", operation.id),
                    what,
                    is_shared,
                })
            })
            .collect()
    }

    /// A code that is listed.
    pub fn of_code(code: &str) -> Promise<'a> {
        let place = "any operation or none".to_string();
        Promise { operation: None, place, what: code_label(code), is_shared: true }
    }

    /// Such as `listOrders 429 header retry-after`.
    pub fn label(&self) -> String {
        format!("{}{}", self.place, self.what)
    }

    /// Whether the labels of what was seen have it.
    pub fn is_seen(&self, seen: &BTreeSet<String>) -> bool {
        let is_of_version = |label: &str| match self.operation {
            Some(operation) => version_prefix(label) == version_prefix(&operation.id),
            None => true,
        };
        seen.contains(&self.label())
            || self.is_shared
                && seen.iter().any(|label| label.ends_with(&self.what) && is_of_version(label))
    }
}

/// What each response of a status shows, and whether another operation may show it instead.
fn of_response(documented: &DocumentedResponse) -> Vec<(String, bool)> {
    let headers = documented.headers.iter().map(|header| (header_label(&header.name), false));
    let codes = documented.codes.iter().map(|(_, code)| (code_label(code), false));
    let fields = documented.fields.iter().flat_map(|fields| fields.promised());
    // The codes of errors are those of the examples.
    let fields = fields.filter(|(label, _)| !label.starts_with(" value Error.code "));
    let fields = fields.map(|(label, is_required)| (label.to_string(), !is_required));
    std::iter::once((String::new(), false)).chain(headers).chain(codes).chain(fields).collect()
}

/// `v2` of `v2/listOrders 200`, nothing of `listOrders 200`.
fn version_prefix(label: &str) -> &str {
    let owner = label.split(' ').next().unwrap_or_default();
    owner.split_once('/').map_or("", |(version, _)| version)
}
