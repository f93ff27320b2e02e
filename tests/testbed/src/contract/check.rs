//! The check of a response against the document, and what of the document was seen.

use super::documented::{Contract, Operation, code_label, header_label, responses};
use super::messages::{ReceivedResponse, SentRequest};
use super::response;
use super::schema::resolved;
use super::undocumented::{self, Subject};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The contract of this repository.
pub fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let text = include_str!("../../../../spec/openapi.json");
        Contract::of(&serde_json::from_str(text).unwrap())
    })
}

impl Contract {
    fn of(document: &Value) -> Contract {
        let document = &resolved(document, document);
        let paths = document["paths"].as_object().unwrap();
        let operations = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap();
            methods.iter().map(move |(method, operation)| read(document, path, method, operation))
        });
        Contract {
            operations: operations.collect(),
            unknown_path: undocumented::unknown_path(document),
            codes: listed_codes(document),
        }
    }

    /// What is wrong with a response; what it shows of the document is added to
    /// `seen`.
    pub fn check(
        &self,
        sent: &SentRequest,
        received: &ReceivedResponse,
        seen: &mut BTreeSet<String>,
    ) -> Vec<String> {
        let (owner, responses) = match undocumented::subject(self, sent, received.status) {
            Subject::Operation(operation) => (operation.id.as_str(), &operation.responses),
            Subject::OtherMethod(operation) => ("no operation", &operation.other_method),
            Subject::UnknownPath => ("no operation", &self.unknown_path),
            Subject::PublicPage => return response::violations_of_public_page(received),
            Subject::NotOurs => return Vec::new(),
        };
        let exact = received.status.to_string();
        let range = format!("{}XX", received.status / 100);
        let Some((status, documented)) =
            responses.get_key_value(&exact).or_else(|| responses.get_key_value(&range))
        else {
            return vec![format!("{owner} documents no such status")];
        };
        let shown = response::shown(documented, received);
        seen.extend(shown.iter().map(|what| format!("{owner} {status}{what}")));
        response::violations(documented, sent, received)
    }

    /// All that the document promises: each status of each operation, each
    /// header and code of each status, each code that it lists.
    pub fn promised(&self) -> BTreeSet<String> {
        let mut promised = BTreeSet::new();
        for operation in &self.operations {
            for (status, documented) in &operation.responses {
                let place = format!("{} {status}", operation.id);
                let headers = documented.headers.iter().map(|header| header_label(&header.name));
                let codes = documented.codes.iter().map(|(_, code)| code_label(code));
                promised.extend(headers.chain(codes).map(|what| format!("{place}{what}")));
                promised.insert(place);
            }
        }
        let listed = self.codes.iter().map(|code| code_label(code));
        let new = listed.filter(|code| !promised.iter().any(|what| what.ends_with(code)));
        let new: Vec<_> = new.map(|code| format!("{ANYWHERE}{code}")).collect();
        promised.extend(new);
        promised
    }

    /// What of that was never seen.
    pub fn unseen(&self, seen: &BTreeSet<String>) -> Vec<String> {
        let was_seen = |what: &String| match what.strip_prefix(ANYWHERE) {
            Some(code) => seen.iter().any(|other| other.ends_with(code)),
            None => seen.contains(what),
        };
        self.promised().into_iter().filter(|what| !was_seen(what)).collect()
    }
}

const ANYWHERE: &str = "any operation or none";

/// The values of `code` that the document lists.
fn listed_codes(document: &Value) -> Vec<String> {
    let code = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let codes = code["x-extensible-enum"].as_array().expect("the document lists the codes");
    codes.iter().map(|code| code.as_str().unwrap().to_string()).collect()
}

fn read(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    Operation {
        id: operation["operationId"].as_str().unwrap().to_string(),
        method: method.to_uppercase(),
        path: path.trim_start_matches('/').split('/').map(ToString::to_string).collect(),
        responses: responses(&operation["responses"]),
        other_method: undocumented::other_method(document, operation),
    }
}
