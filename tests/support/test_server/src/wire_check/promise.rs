//! What a document promises, one thing at a time.

use super::documented::{DocumentedResponse, Operation};
use super::response::{code_label, header_label, parameter_label};
use std::collections::BTreeSet;

/// Values and fields of a schema that an operation never shows, as its text says: lists hold no
/// cancelled orders.
const NOT_SHOWN: [&str; 2] =
    ["v2/listOrders 200 value Order.status cancelled", "v2/listOrders 200 field Order.cancelledAt"];

/// One thing that exchanges show, if the document is right.
pub struct Promise<'a> {
    /// The operation that shows it; none, if any response may.
    pub operation: Option<&'a Operation>,
    /// The operation and, for what a response has, the status.
    place: String,
    /// What it is; nothing, if the status is enough.
    pub what: String,
}

impl<'a> Promise<'a> {
    /// All that an operation promises.
    pub fn of_operation(operation: &'a Operation) -> Vec<Promise<'a>> {
        let of = |place: String, what: String| Promise { operation: Some(operation), place, what };
        let parameters = operation.query_parameters();
        let parameters = parameters.map(|name| of(operation.id.clone(), parameter_label(name)));
        let responses = operation.responses.iter().flat_map(|(status, documented)| {
            let place = format!("{} {status}", operation.id);
            of_response(documented).into_iter().map(move |what| of(place.clone(), what))
        });
        let all = parameters.chain(responses);
        all.filter(|one| !NOT_SHOWN.contains(&one.label().as_str())).collect()
    }

    /// A code that is listed.
    pub fn of_code(code: &str) -> Promise<'a> {
        let place = "any operation or none".to_string();
        Promise { operation: None, place, what: code_label(code) }
    }

    /// Such as `listOrders 429 header retry-after`.
    pub fn label(&self) -> String {
        format!("{}{}", self.place, self.what)
    }

    /// Whether the labels of what was seen have it.
    pub fn is_seen(&self, seen: &BTreeSet<String>) -> bool {
        match self.operation {
            Some(_) => seen.contains(&self.label()),
            None => seen.iter().any(|label| label.ends_with(&self.what)),
        }
    }
}

/// What responses of a status show.
fn of_response(documented: &DocumentedResponse) -> Vec<String> {
    let headers = documented.headers.iter().map(|header| header_label(&header.name));
    let codes = documented.codes.iter().map(|(_, code)| code_label(code));
    let fields = documented.fields.iter().flat_map(|fields| fields.promised());
    // The codes of errors are those of the examples.
    let fields = fields.filter(|label| !label.starts_with(" value Error.code "));
    let fields = fields.map(str::to_string);
    std::iter::once(String::new()).chain(headers).chain(codes).chain(fields).collect()
}
