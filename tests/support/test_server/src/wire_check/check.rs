//! Checks responses against the documents. Also finds parts of the documents that occur in no
//! observed request or response.

use super::documented::{
    DocumentFacts, DocumentedResponse, ListedCode, Operation, WireCheck, responses,
};
use super::messages::{Exchange, ReceivedResponse, SentRequest};
use super::promise::Promise;
use super::response::{self, parameter_label};
use super::schema::Reader;
use super::undocumented::{self, Subject};
use codegen::pointer::resolve_references;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use store_orders_api::documents::DOCUMENTS;

pub fn wire_check() -> &'static WireCheck {
    static WIRE_CHECK: OnceLock<WireCheck> = OnceLock::new();
    WIRE_CHECK
        .get_or_init(|| WireCheck::closed(&DOCUMENTS.map(|document| document.json().unwrap())))
}

impl WireCheck {
    /// Compiles a check against these documents. Undocumented fields, headers and codes are
    /// violations.
    pub fn closed(documents: &[Value]) -> WireCheck {
        WireCheck::from_documents(documents, Reader::Closed)
    }

    /// Compiles a check against these documents. The first document defines the responses to
    /// unknown paths.
    pub(super) fn from_documents(documents: &[Value], reader: Reader) -> WireCheck {
        let documents: Vec<_> =
            documents.iter().map(|document| resolve_references(document, document)).collect();
        let operations = documents.iter().flat_map(|document| {
            let version = version_of(document);
            let paths = document["paths"].as_object().unwrap();
            paths.iter().flat_map(move |(path, item)| {
                let methods = item.as_object().unwrap();
                let path = format!("{version}{path}");
                methods.iter().map(move |(method, operation)| {
                    compile_operation(document, &path, method, operation, reader)
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

    pub fn check(&self, sent: &SentRequest, received: &ReceivedResponse) -> Vec<String> {
        let subject = undocumented::subject(self, sent, received.status);
        if matches!(subject, Subject::PublicPage) {
            return response::public_page_violations(received);
        }
        let Some((owner, responses)) = self.responses_to(&subject) else { return Vec::new() };
        match documented_for(responses, received.status) {
            Some((status, documented)) => {
                let wrong = response::violations(self.reader, documented, sent, received);
                wrong.into_iter().map(|what| format!("{owner} {status}: {what}")).collect()
            }
            // Accept this status, because today's server may have an operation that the published
            // document lacks.
            None if self.reader == Reader::Open && owner == NO_OPERATION => Vec::new(),
            None => vec![format!("{owner} documents no such status")],
        }
    }

    /// Returns the labels of the documented parts, such as headers and fields, that occur in these
    /// requests and responses. Includes query parameters only if the response's status is below
    /// 300.
    pub fn seen<'a>(&self, exchanges: impl IntoIterator<Item = &'a Exchange>) -> BTreeSet<String> {
        let mut observed = BTreeSet::new();
        for (sent, received) in exchanges {
            let subject = undocumented::subject(self, sent, received.status);
            let Some((owner, responses)) = self.responses_to(&subject) else { continue };
            if let Some((status, documented)) = documented_for(responses, received.status) {
                let shown = response::shown_labels(documented, received);
                observed.extend(shown.iter().map(|what| format!("{owner} {status}{what}")));
                if received.status < 300 {
                    let sent = sent.query_parameters().map(parameter_label);
                    observed.extend(sent.map(|what| format!("{owner}{what}")));
                }
            }
        }
        observed
    }

    pub fn operation(&self, sent: &SentRequest) -> Option<&Operation> {
        match undocumented::subject(self, sent, 200) {
            Subject::Operation(operation) => Some(operation),
            _ => None,
        }
    }

    /// Returns what this version's document promises, including its listed error codes. Omits
    /// listed codes that only proxies send.
    pub fn promises(&self, version: &str) -> Vec<Promise<'_>> {
        let operations = self.operations.iter().filter(|operation| operation.version() == version);
        let mut promises: Vec<_> = operations.flat_map(Promise::from_operation).collect();
        let listed = self.documents.iter().filter(|document| document.version == version);
        let listed = listed.flat_map(|document| &document.codes);
        let listed = listed.filter(|code| !code.is_from_proxy).map(|code| &code.name);
        let listed = listed.map(|code| Promise::from_code(code));
        let new: Vec<_> =
            listed.filter(|code| !promises.iter().any(|other| other.what == code.what)).collect();
        promises.extend(new);
        promises
    }

    /// Returns the codes that, according to the documents, only a proxy in front of the server
    /// sends.
    pub fn proxy_codes(&self) -> BTreeSet<&str> {
        let codes = self.documents.iter().flat_map(|document| &document.codes);
        codes.filter(|code| code.is_from_proxy).map(|code| code.name.as_str()).collect()
    }

    pub fn unseen(&self, version: &str, observed: &BTreeSet<String>) -> Vec<String> {
        let promises = self.promises(version);
        promises.iter().filter(|one| !one.is_in(observed)).map(Promise::label).collect()
    }

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

/// If the description of an error code contains one of these sentences, only a proxy in front of
/// the server sends the code. Older documents have the second sentence.
const PROXY_SENDS: [&str; 2] = [
    "A proxy in front of the service sends this error.",
    "A proxy in front of the service sends this.",
];

const NO_OPERATION: &str = "no operation";

fn documented_for(
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

/// Returns the version in a document's base URL, such as `v1`.
fn version_of(document: &Value) -> String {
    let url = document["servers"][0]["url"].as_str().expect("a document has servers");
    url.rsplit('/').next().unwrap_or_default().to_string()
}

/// Returns the documented values of an error's `code`. Documents before 1.1.0 list them only in a
/// sentence.
fn listed_codes(document: &Value) -> Vec<ListedCode> {
    let code = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let Some(codes) = code["x-extensible-enum"].as_array() else {
        let text = code["description"].as_str().unwrap();
        let (_, list) = text.split_once("Today's codes: ").expect("the document lists the codes");
        let names = list.split('`').skip(1).step_by(2).map(str::to_string);
        return names.map(|name| ListedCode { name, is_from_proxy: false }).collect();
    };
    let listed = |name: &Value| {
        let meaning = code["x-enumDescriptions"][name.as_str().unwrap()].as_str();
        ListedCode {
            name: name.as_str().unwrap().to_string(),
            is_from_proxy: meaning.is_some_and(|meaning| {
                PROXY_SENDS.iter().any(|sentence| meaning.contains(sentence))
            }),
        }
    };
    codes.iter().map(listed).collect()
}

fn compile_operation(
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
