//! The check of a response against the document, and what of the document was seen.

use super::documented::{Contract, Operation, code_label, header_label, responses};
use super::messages::{ReceivedResponse, SentRequest};
use super::response;
use super::schema::resolved;
use super::undocumented::{self, Subject};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The contract of this repository, with all versions.
pub fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        Contract::of([
            ("v1", include_str!("../../../../spec/openapi.json")),
            ("v2", include_str!("../../../../spec/openapi-v2.json")),
        ])
    })
}

impl Contract {
    fn of(documents: [(&'static str, &str); 2]) -> Contract {
        let documents = documents.map(|(version, text)| {
            let document: Value = serde_json::from_str(text).unwrap();
            (version, resolved(&document, &document))
        });
        let operations = documents.iter().flat_map(|(version, document)| {
            let paths = document["paths"].as_object().unwrap();
            paths.iter().flat_map(move |(path, item)| {
                let methods = item.as_object().unwrap();
                methods.iter().map(move |(method, operation)| {
                    read(document, &format!("/{version}{path}"), method, operation)
                })
            })
        });
        let [(_, stable), _] = &documents;
        Contract {
            operations: operations.collect(),
            unknown_path: undocumented::unknown_path(stable),
            codes: documents.iter().map(|(version, one)| (*version, listed_codes(one))).collect(),
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

    /// All that the document of this version promises: each status of each operation, each
    /// header and code of each status, each code that it lists.
    pub fn promised(&self, version: &str) -> BTreeSet<String> {
        let mut promised = BTreeSet::new();
        let is_of = |operation: &&Operation| operation.path.first().is_some_and(|v| v == version);
        for operation in self.operations.iter().filter(is_of) {
            for (status, documented) in &operation.responses {
                let place = format!("{} {status}", operation.id);
                let headers = documented.headers.iter().map(|header| header_label(&header.name));
                let codes = documented.codes.iter().map(|(_, code)| code_label(code));
                promised.extend(headers.chain(codes).map(|what| format!("{place}{what}")));
                promised.insert(place);
            }
        }
        let listed = self.codes.iter().filter(|(of, _)| *of == version);
        let listed = listed.flat_map(|(_, codes)| codes);
        let listed = listed.filter(|code| !PROXY_CODES.contains(&code.as_str()));
        let listed = listed.map(|code| code_label(code));
        let new = listed.filter(|code| !promised.iter().any(|what| what.ends_with(code)));
        let new: Vec<_> = new.map(|code| format!("{ANYWHERE}{code}")).collect();
        promised.extend(new);
        promised
    }

    /// What of that was never seen.
    pub fn unseen(&self, version: &str, seen: &BTreeSet<String>) -> Vec<String> {
        let was_seen = |what: &String| match what.strip_prefix(ANYWHERE) {
            Some(code) => seen.iter().any(|other| other.ends_with(code)),
            None => seen.contains(what),
        };
        self.promised(version).into_iter().filter(|what| !was_seen(what)).collect()
    }
}

/// Codes that the proxy of `store-orders nginx-conf` alone sends.
const PROXY_CODES: [&str; 4] =
    ["invalid_request", "request_timeout", "request_too_large", "uri_too_long"];

const ANYWHERE: &str = "any operation or none";

/// The values of `code` that the document lists.
fn listed_codes(document: &Value) -> Vec<String> {
    let code = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let codes = code["x-extensible-enum"].as_array().expect("the document lists the codes");
    codes.iter().map(|code| code.as_str().unwrap().to_string()).collect()
}

fn read(document: &Value, path: &str, method: &str, operation: &Value) -> Operation {
    let id = operation["operationId"].as_str().unwrap();
    let version = path.split('/').nth(1).unwrap();
    Operation {
        id: if version == "v1" { id.to_string() } else { format!("{version}/{id}") },
        method: method.to_uppercase(),
        path: path.trim_start_matches('/').split('/').map(ToString::to_string).collect(),
        responses: responses(&operation["responses"]),
        other_method: undocumented::other_method(document, operation),
    }
}
