//! The document, ready to judge by: its operations, and for each status what a
//! response must have.

use super::messages::{Received, Sent};
use super::outside::{self, Subject};
use super::schema::{Check, resolved};
use super::{codes, verdict};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// What the document says of responses.
pub struct Contract {
    pub operations: Vec<Operation>,
    /// What holds for a path that is none of the contract's.
    pub no_path: Operation,
    /// Every `code` that the description of the field lists.
    codes: Vec<String>,
}

/// An operation and its responses.
pub struct Operation {
    /// The operation id.
    pub id: String,
    /// The method, in capitals.
    pub method: String,
    /// The segments of the path; one in braces stands for any.
    pub path: Vec<String>,
    /// By status, or range of statuses.
    pub responses: BTreeMap<String, Response>,
    /// What is answered to other methods of the path.
    pub other_method: BTreeMap<String, Response>,
}

/// What a response of some status must have.
pub struct Response {
    pub headers: Vec<Header>,
    /// None where there is no body.
    pub body: Option<Check>,
    /// The codes that its examples show, with the statuses they come with.
    pub codes: Vec<(u16, String)>,
}

/// A header of a response.
pub struct Header {
    pub name: String,
    pub required: bool,
    pub value: Check,
}

/// The contract of this repository.
pub fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let text = include_str!("../../../spec/openapi.json");
        Contract::of(&serde_json::from_str(text).unwrap())
    })
}

impl Contract {
    /// Reads a document.
    pub fn of(document: &Value) -> Contract {
        let document = &resolved(document, document);
        let paths = document["paths"].as_object().unwrap();
        let operations = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap();
            methods.iter().map(move |(method, operation)| read(document, path, method, operation))
        });
        Contract {
            operations: operations.collect(),
            no_path: outside::no_path(document),
            codes: codes::listed(document),
        }
    }

    /// What is wrong with a response, and what of the document it shows.
    pub fn judge(
        &self,
        sent: &Sent,
        received: &Received,
        seen: &mut BTreeSet<String>,
    ) -> Vec<String> {
        let (owner, responses) = match outside::subject(self, sent, received.status) {
            Subject::Operation(operation) => (operation.id.as_str(), &operation.responses),
            Subject::OtherMethod(operation) => ("no operation", &operation.other_method),
            Subject::NoPath => ("no operation", &self.no_path.responses),
            Subject::PublicPage => return verdict::of_public_page(received),
            Subject::NotOurs => return Vec::new(),
        };
        let exact = received.status.to_string();
        let range = format!("{}XX", received.status / 100);
        let Some((status, response)) =
            responses.get_key_value(&exact).or_else(|| responses.get_key_value(&range))
        else {
            return vec![format!("{owner} documents no such status")];
        };
        let shown = verdict::shown(response, received);
        seen.extend(shown.iter().map(|what| format!("{owner} {status}{what}")));
        verdict::violations(response, sent, received)
    }

    /// All that the document promises: each status of each operation, each
    /// header and code of each status, each code that it lists.
    pub fn promised(&self) -> BTreeSet<String> {
        let mut promised = BTreeSet::new();
        for operation in &self.operations {
            for (status, response) in &operation.responses {
                let place = format!("{} {status}", operation.id);
                let headers = response.headers.iter().map(|header| verdict::header(&header.name));
                let codes = response.codes.iter().map(|(_, code)| verdict::code(code));
                promised.extend(headers.chain(codes).map(|what| format!("{place}{what}")));
                promised.insert(place);
            }
        }
        let outside = self.codes.iter().map(|code| verdict::code(code));
        let new = outside.filter(|code| !promised.iter().any(|what| what.ends_with(code)));
        let new: Vec<_> = new.map(|code| format!("any operation or none{code}")).collect();
        promised.extend(new);
        promised
    }

    /// What of that was never seen.
    pub fn unseen(&self, seen: &BTreeSet<String>) -> Vec<String> {
        let was_seen = |what: &String| match what.strip_prefix("any operation or none") {
            Some(code) => seen.iter().any(|other| other.ends_with(code)),
            None => seen.contains(what),
        };
        self.promised().into_iter().filter(|what| !was_seen(what)).collect()
    }
}

fn read(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    let responses = responses(&operation["responses"]);
    Operation {
        id: operation["operationId"].as_str().unwrap().to_string(),
        method: method.to_uppercase(),
        path: path.trim_start_matches('/').split('/').map(ToString::to_string).collect(),
        other_method: outside::other_method(document, operation),
        responses,
    }
}

/// Reads the responses of an operation.
pub fn responses(responses: &Value) -> BTreeMap<String, Response> {
    let responses = responses.as_object().unwrap().iter();
    responses.map(|(status, response)| (status.clone(), one(response))).collect()
}

fn one(response: &Value) -> Response {
    let headers = response["headers"].as_object().into_iter().flatten();
    let media = response["content"].as_object().and_then(|content| {
        assert_eq!(content.keys().collect::<Vec<_>>(), ["application/json"]);
        content.get("application/json")
    });
    let examples = media.and_then(|media| media["examples"].as_object()).into_iter().flatten();
    Response {
        headers: headers
            .map(|(name, header)| Header {
                name: name.to_lowercase(),
                required: header["required"] == true,
                value: Check::of(&header["schema"]),
            })
            .collect(),
        body: media.map(|media| Check::of(&media["schema"])),
        codes: examples
            .map(|(code, example)| {
                let status = example["value"]["status"].as_u64().unwrap();
                (u16::try_from(status).unwrap(), code.clone())
            })
            .collect(),
    }
}
