//! The check of a response against the documents, and what of them was seen.

use super::documented::{DocumentFacts, DocumentedResponse, Operation, WireCheck, responses};
use super::messages::{Exchange, ReceivedResponse, SentRequest};
use super::promise::Promise;
use super::response::{self, parameter_label};
use super::schema::Reader;
use super::undocumented::{self, Subject};
use codegen::pointer::resolved;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The contract of this repository, with all versions.
pub fn wire_check() -> &'static WireCheck {
    static WIRE_CHECK: OnceLock<WireCheck> = OnceLock::new();
    let documents = [
        include_str!("../../../../../spec/openapi.json"),
        include_str!("../../../../../spec/openapi-v2.json"),
    ];
    WIRE_CHECK.get_or_init(|| {
        let documents = documents.map(|text| serde_json::from_str(text).unwrap());
        WireCheck::closed(&documents)
    })
}

impl WireCheck {
    /// The contract that today's documents are.
    pub fn closed(documents: &[Value]) -> WireCheck {
        WireCheck::of(documents, Reader::Closed)
    }

    /// The contract that these documents are, the first of which speaks for paths that none has.
    pub(super) fn of(documents: &[Value], reader: Reader) -> WireCheck {
        let documents: Vec<_> =
            documents.iter().map(|document| resolved(document, document)).collect();
        let operations = documents.iter().flat_map(|document| {
            let version = version_of(document);
            let paths = document["paths"].as_object().unwrap();
            paths.iter().flat_map(move |(path, item)| {
                let methods = item.as_object().unwrap();
                let path = format!("{version}{path}");
                methods.iter().map(move |(method, operation)| {
                    read(document, &path, method, operation, reader)
                })
            })
        });
        WireCheck {
            reader,
            operations: operations.collect(),
            unknown_path: undocumented::unknown_path(documents.first().unwrap(), reader),
            documents: documents.iter().map(facts).collect(),
        }
    }

    /// What is wrong with a response.
    pub fn check(&self, sent: &SentRequest, received: &ReceivedResponse) -> Vec<String> {
        let subject = undocumented::subject(self, sent, received.status);
        if matches!(subject, Subject::PublicPage) {
            return response::violations_of_public_page(received);
        }
        let Some((owner, responses)) = self.responses_to(&subject) else { return Vec::new() };
        match of_status(responses, received.status) {
            Some((status, documented)) => {
                let wrong = response::violations(self.reader, documented, sent, received);
                wrong.into_iter().map(|what| format!("{owner} {status}: {what}")).collect()
            }
            // By now it may be an operation.
            None if self.reader == Reader::Open && owner == NO_OPERATION => Vec::new(),
            None => vec![format!("{owner} documents no such status")],
        }
    }

    /// What of the documents exchanges show.
    pub fn seen<'a>(&self, exchanges: impl IntoIterator<Item = &'a Exchange>) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for (sent, received) in exchanges {
            let subject = undocumented::subject(self, sent, received.status);
            let Some((owner, responses)) = self.responses_to(&subject) else { continue };
            if let Some((status, documented)) = of_status(responses, received.status) {
                let shown = response::shown(documented, received);
                seen.extend(shown.iter().map(|what| format!("{owner} {status}{what}")));
                if received.status < 300 {
                    let sent = sent.query_parameters().map(parameter_label);
                    seen.extend(sent.map(|what| format!("{owner}{what}")));
                }
            }
        }
        seen
    }

    /// The operation that a request is for.
    pub fn operation(&self, sent: &SentRequest) -> Option<&Operation> {
        match undocumented::subject(self, sent, 200) {
            Subject::Operation(operation) => Some(operation),
            _ => None,
        }
    }

    /// All that the document of this version promises: each status of each operation, each
    /// header, code and field of each status, each value that it lists, each query parameter.
    pub fn promises(&self, version: &str) -> Vec<Promise<'_>> {
        let operations = self.operations.iter().filter(|operation| operation.version() == version);
        let mut promises: Vec<_> = operations.flat_map(Promise::of_operation).collect();
        let listed = self.documents.iter().filter(|document| document.version == version);
        let listed = listed.flat_map(|document| &document.codes);
        let listed = listed.filter(|code| !PROXY_CODES.contains(&code.as_str()));
        let listed = listed.map(|code| Promise::of_code(code));
        let new: Vec<_> =
            listed.filter(|code| !promises.iter().any(|other| other.what == code.what)).collect();
        promises.extend(new);
        promises
    }

    /// What of that was never seen.
    pub fn unseen(&self, version: &str, seen: &BTreeSet<String>) -> Vec<String> {
        let promises = self.promises(version);
        promises.iter().filter(|one| !one.is_seen(seen)).map(Promise::label).collect()
    }

    /// What may be answered to a request, and by whom.
    fn responses_to<'a>(
        &'a self,
        subject: &Subject<'a>,
    ) -> Option<(&'a str, &'a BTreeMap<String, DocumentedResponse>)> {
        match subject {
            Subject::Operation(operation) => Some((&operation.id, &operation.responses)),
            Subject::OtherMethod(operation) => Some((NO_OPERATION, &operation.other_method)),
            Subject::UnknownPath => Some((NO_OPERATION, &self.unknown_path)),
            Subject::PublicPage | Subject::NotOurs => None,
        }
    }
}

/// Codes that the proxy of `store-orders nginx-conf` alone sends.
const PROXY_CODES: [&str; 4] =
    ["invalid_request", "request_timeout", "request_too_large", "uri_too_long"];

const NO_OPERATION: &str = "no operation";

/// What is documented for a status, or for its range.
fn of_status(
    responses: &BTreeMap<String, DocumentedResponse>,
    status: u16,
) -> Option<(&String, &DocumentedResponse)> {
    let (exact, range) = (status.to_string(), format!("{}XX", status / 100));
    responses.get_key_value(&exact).or_else(|| responses.get_key_value(&range))
}

fn facts(document: &Value) -> DocumentFacts {
    DocumentFacts {
        version: version_of(document),
        full_version: document["info"]["version"].as_str().unwrap().to_string(),
        codes: listed_codes(document),
    }
}

/// The version in the base address of a document, such as `v1`.
fn version_of(document: &Value) -> String {
    let url = document["servers"][0]["url"].as_str().expect("a document has servers");
    url.rsplit('/').next().unwrap_or_default().to_string()
}

/// The values of `code` that the document lists for programs; before 1.1.0, in a sentence alone.
fn listed_codes(document: &Value) -> Vec<String> {
    let code = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let Some(codes) = code["x-extensible-enum"].as_array() else {
        let text = code["description"].as_str().unwrap();
        let (_, list) = text.split_once("Today's codes: ").expect("the document lists the codes");
        return list.split('`').skip(1).step_by(2).map(str::to_string).collect();
    };
    codes.iter().map(|code| code.as_str().unwrap().to_string()).collect()
}

fn read(
    document: &Value,
    path: &str,
    method: &str,
    operation: &Value,
    reader: Reader,
) -> Operation {
    let id = operation["operationId"].as_str().unwrap();
    let path: Vec<_> = path.split('/').map(ToString::to_string).collect();
    Operation {
        id: if path[0] == "v1" { id.to_string() } else { format!("{}/{id}", path[0]) },
        method: method.to_uppercase(),
        path,
        responses: responses(&operation["responses"], reader),
        other_method: undocumented::other_method(document, operation, reader),
        document: operation.clone(),
    }
}
