//! What the documents of the versions say differently of the same thing.

use super::operations_of;
use crate::documents::{DOCUMENTS, Document};
use crate::errors::Code;
use crate::headers::{self, Header};

/// The errors that the version has: those of its operations, and those of no operation, which are
/// sent before any.
pub(super) fn codes(version: &Document) -> impl Iterator<Item = Code> {
    let all = DOCUMENTS.into_iter().flat_map(codes_of_operations).collect::<Vec<_>>();
    let own = codes_of_operations(version).collect::<Vec<_>>();
    let is_in = |codes: &[String], code: Code| codes.iter().any(|of| of == code.as_str());
    Code::ALL.into_iter().filter(move |code| is_in(&own, *code) || !is_in(&all, *code))
}

fn codes_of_operations(version: &Document) -> impl Iterator<Item = String> {
    let errors = operations_of(version).into_iter().flat_map(|operation| operation.errors);
    errors.map(|error| error.code)
}

/// When the code is sent, and what to do.
pub(super) fn meaning(version: &Document, code: Code) -> &'static str {
    match code {
        Code::InvalidParameter if !version.is_first() => {
            "A path parameter is malformed, or a query parameter is malformed, empty, repeated or \
             unknown. The `message` names it. Correct the request."
        }
        _ => code.meaning(),
    }
}

/// The text of every response of the code's status.
pub(super) fn status_description(version: &Document, code: Code) -> &'static str {
    match code {
        Code::InvalidParameter if !version.is_first() => {
            "A parameter is malformed, empty, repeated or unknown"
        }
        _ => code.status_description(),
    }
}

/// The `Link` of errors.
pub(super) fn link(version: &Document) -> &'static Header {
    if version.is_first() { &headers::LINK } else { &headers::ERROR_LINK }
}
