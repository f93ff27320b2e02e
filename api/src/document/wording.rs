//! What the documents of the versions say differently of the same thing.

use crate::documents::Document;
use crate::errors::Code;
use crate::headers::{self, Header};

/// The errors that the version has.
pub(super) fn codes(version: &Document) -> impl Iterator<Item = Code> {
    let has_pets = version.is_first();
    Code::ALL.into_iter().filter(move |code| has_pets || *code != Code::PetNotFound)
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
