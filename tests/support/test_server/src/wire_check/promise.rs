//! The promises of a document. A promise is a part, such as a status, a header or a field, that
//! some test must see in a response or request.

use super::documented::{DocumentedResponse, Operation};
use super::response::{code_label, header_label, parameter_label};
use std::collections::BTreeSet;

/// Parts that describe cancelled orders. The schemas of version 2's lists allow these parts, but
/// lists show no cancelled orders.
const NEVER_RETURNED: [&str; 2] =
    ["v2/listOrders 200 value Order.status cancelled", "v2/listOrders 200 field Order.cancelledAt"];

/// A part of an API document, such as a header, that some request or response of the tests must
/// contain.
pub struct Promise<'a> {
    /// The operation whose responses or requests must contain the part; `None` if a response to any
    /// request may contain it.
    pub operation: Option<&'a Operation>,
    /// The start of the label: the operation, and the status if the part belongs to a response.
    place: String,
    /// The end of the label, with the part's name. Empty if the part is the status itself.
    pub what: String,
}

impl<'a> Promise<'a> {
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

    /// Returns the promise that at least one response has this error code, whatever the operation.
    pub fn from_code(code: &str) -> Promise<'a> {
        let place = "any operation or none".to_string();
        Promise { operation: None, place, what: code_label(code) }
    }

    /// Returns the full label, such as `listOrders 429 header retry-after`.
    pub fn label(&self) -> String {
        format!("{}{}", self.place, self.what)
    }

    /// True if the tests observed the promised part. A promise without an operation is about an
    /// error code, which may occur in any response.
    pub fn is_in(&self, observed: &BTreeSet<String>) -> bool {
        match self.operation {
            Some(_) => observed.contains(&self.label()),
            None => observed.iter().any(|label| label.ends_with(&self.what)),
        }
    }
}

/// Returns the labels of all parts of a documented response. The status itself has an empty label.
fn response_labels(documented: &DocumentedResponse) -> Vec<String> {
    let headers = documented.headers.iter().map(|header| header_label(&header.name));
    let codes = documented.codes.iter().map(|(_, code)| code_label(code));
    let fields = documented.fields.iter().flat_map(|fields| fields.promised());
    // Leave out the schema's error codes, because the schema mixes the codes of all statuses.
    let fields = fields.filter(|label| !label.starts_with(" value Error.code "));
    let fields = fields.map(str::to_string);
    std::iter::once(String::new()).chain(headers).chain(codes).chain(fields).collect()
}
