//! Checks that today's server keeps the promises of the published documents. Skips beta and
//! experimental operations, and deprecated operations after their sunset.

use super::documented::{DocumentFacts, Operation, WireCheck};
use super::messages::{Exchange, SentRequest};
use super::schema::Reader;
use semver::Version;
use std::path::Path;

pub struct PublishedDocument {
    check: WireCheck,
}

/// Loads the published documents, in ascending order of `info.version`.
pub fn published_documents() -> Vec<PublishedDocument> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../spec/published");
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let documents = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let mut documents: Vec<_> = documents
        .map(|path| PublishedDocument::new(&std::fs::read_to_string(path).unwrap()))
        .collect();
    documents.sort_by_key(|document| Version::parse(document.full_version()).unwrap());
    documents
}

impl PublishedDocument {
    fn new(text: &str) -> PublishedDocument {
        let document = serde_json::from_str(text).unwrap();
        PublishedDocument { check: WireCheck::from_documents(&[document], Reader::Open) }
    }

    pub fn full_version(&self) -> &str {
        &self.facts().full_version
    }

    fn facts(&self) -> &DocumentFacts {
        self.check.documents.first().unwrap()
    }

    /// Returns the responses that differ from this document, and the document's promises that no
    /// exchange shows. Ignores excused operations.
    fn broken_promises(&self, exchanges: &[Exchange], rules: &Rules<'_>) -> Vec<String> {
        let name = format!("{}.json", self.full_version());
        let is_binding = |operation: &Operation| !rules.is_excused(operation);
        if !self.check.operations.iter().any(is_binding) {
            return Vec::new();
        }
        let is_possible = |exchange: &&Exchange| self.can_send(&exchange.0, rules.today);
        let possible: Vec<_> = exchanges.iter().filter(is_possible).collect();
        let mut broken = Vec::new();
        for (sent, received) in &possible {
            if self.check.operation(sent).is_none_or(is_binding) {
                let wrong = self.check.check(sent, received);
                let answered =
                    format!("{} {} was answered {}", sent.method, sent.target, received.status);
                broken.extend(wrong.iter().map(|what| format!("{name}: {what} ({answered})")));
            }
        }
        let observed = self.check.seen(possible.iter().copied());
        let promises = self.check.promises(&self.facts().version);
        let binding = promises.iter().filter(|promise| promise.operation.is_none_or(is_binding));
        let unseen = binding.filter(|promise| !promise.is_in(&observed));
        broken.extend(
            unseen.map(|promise| format!("{name}: {} was promised, and not seen", promise.label())),
        );
        broken
    }

    /// True if a program written for this document could send the request. Such a program does not
    /// know parameters that were added later.
    fn can_send(&self, sent: &SentRequest, today: &WireCheck) -> bool {
        let (Some(then), Some(now)) = (self.check.operation(sent), today.operation(sent)) else {
            return true;
        };
        let has = |operation: &Operation, name: &str| {
            let parameters = operation.document["parameters"].as_array().into_iter().flatten();
            let mut names = parameters.filter_map(|parameter| parameter["name"].as_str());
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let headers = sent.header_names.iter().map(String::as_str);
        sent.query_parameters().chain(headers).all(|name| has(then, name) || !has(now, name))
    }
}

/// Decides which operations need not keep the promises of published documents
/// ([`Rules::is_excused`]).
struct Rules<'a> {
    published: &'a [PublishedDocument],
    today: &'a WireCheck,
    /// Today's date, in the format of `x-sunset`, so that the two can be compared as strings.
    day: &'a str,
}

impl Rules<'_> {
    /// True if the server may have removed or changed this operation of a published document,
    /// because the operation is beta or experimental, or its sunset has passed. The newest
    /// published document with the operation decides about the sunset.
    fn is_excused(&self, operation: &Operation) -> bool {
        let mut all = self.published.iter().flat_map(|published| &published.check.operations);
        let last = all.rfind(|other| other.id == operation.id).unwrap_or(operation);
        let sunset = last.document["x-sunset"].as_str();
        let is_over = last.document["deprecated"] == true && sunset.is_some_and(|it| it < self.day);
        is_over || is_beta(operation)
    }
}

fn is_beta(operation: &Operation) -> bool {
    matches!(operation.document["x-stability"].as_str(), Some("beta" | "experimental"))
}

/// Returns the ways in which these requests and responses break promises of published documents.
/// `today` has the current documents. `day` is the current date, which decides whether a sunset has
/// passed.
pub fn replay(
    published: &[PublishedDocument],
    today: &WireCheck,
    day: &str,
    exchanges: &[Exchange],
) -> Vec<String> {
    let rules = Rules { published, today, day };
    published.iter().flat_map(|document| document.broken_promises(exchanges, &rules)).collect()
}
