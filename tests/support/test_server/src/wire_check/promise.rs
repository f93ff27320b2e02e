//! The parts of a document, such as statuses, headers and fields, each of which a test must cover.

use super::documented::{DocumentedResponse, Operation};
use super::response::{code_label, header_label, parameter_label};
use std::collections::BTreeSet;

/// Parts that the schemas allow in lists of v2, but that no list contains: as the operation's
/// description says, these lists show no cancelled orders.
const NEVER_RETURNED: [&str; 2] =
    ["v2/listOrders 200 value Order.status cancelled", "v2/listOrders 200 field Order.cancelledAt"];

/// A part of a document, such as a header or an error code, that must be in some response or
/// request.
pub struct Promise<'a> {
    /// The operation whose responses or requests must contain the part; `None` if the part may be
    /// in the responses to any request.
    pub operation: Option<&'a Operation>,
    /// The start of the label: the operation, and the status if the part belongs to a response.
    place: String,
    /// The rest of the label, which names the part; empty if the part is the status itself.
    pub what: String,
}

impl<'a> Promise<'a> {
    /// Returns a promise for each documented part of an operation.
    pub fn from_operation(operation: &'a Operation) -> Vec<Promise<'a>> {
        let promise =
            |place: String, what: String| Promise { operation: Some(operation), place, what };
        let parameters = operation.query_parameters();
        let parameters =
            parameters.map(|name| promise(operation.id.clone(), parameter_label(name)));
        let responses = operation.responses.iter().flat_map(|(status, documented)| {
            let place = format!("{} {status}", operation.id);
            response_labels(documented).into_iter().map(move |what| promise(place.clone(), what))
        });
        let all = parameters.chain(responses);
        all.filter(|one| !NEVER_RETURNED.contains(&one.label().as_str())).collect()
    }

    /// Returns the promise that some response has this error code.
    pub fn from_code(code: &str) -> Promise<'a> {
        let place = "any operation or none".to_string();
        Promise { operation: None, place, what: code_label(code) }
    }

    /// The full label, such as `listOrders 429 header retry-after`.
    pub fn label(&self) -> String {
        format!("{}{}", self.place, self.what)
    }

    /// True if the part's label is among the observed labels.
    pub fn is_in(&self, observed: &BTreeSet<String>) -> bool {
        match self.operation {
            Some(_) => observed.contains(&self.label()),
            None => observed.iter().any(|label| label.ends_with(&self.what)),
        }
    }
}

/// The labels of all parts of a documented response.
fn response_labels(documented: &DocumentedResponse) -> Vec<String> {
    let headers = documented.headers.iter().map(|header| header_label(&header.name));
    let codes = documented.codes.iter().map(|(_, code)| code_label(code));
    let fields = documented.fields.iter().flat_map(|fields| fields.promised());
    // Leave out error codes from the schema, because the examples have the codes of each status.
    let fields = fields.filter(|label| !label.starts_with(" value Error.code "));
    let fields = fields.map(str::to_string);
    std::iter::once(String::new()).chain(headers).chain(codes).chain(fields).collect()
}
