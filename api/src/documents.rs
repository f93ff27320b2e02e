//! For each version: the checked-in document, and the document that dropshot emits from the
//! contract.

use crate::emission::DocumentError;
use crate::{v1, v2};
use serde_json::Value;
use store_orders_versions as versions;

/// The document of a version.
#[derive(Debug)]
pub struct Document {
    /// `info.version`.
    pub version: &'static str,
    /// The path prefix of the operations.
    pub base_path: &'static str,
    /// The path under which the server publishes the document.
    pub path: &'static str,
    /// The path under which the server publishes the reference page.
    pub reference: &'static str,
    /// The checked-in document, in JSON.
    pub text: &'static str,
    emit: fn() -> Result<Value, DocumentError>,
}

/// The document of version 1.
pub static V1: Document =
    document(&versions::V1, v1::VERSION, include_str!("../../spec/openapi.json"), v1::emitted);

/// The document of version 2.
pub static V2: Document =
    document(&versions::V2, v2::VERSION, include_str!("../../spec/openapi-v2.json"), v2::emitted);

/// The document of each version, in ascending order.
pub static DOCUMENTS: [&Document; 2] = [&V1, &V2];

const fn document(
    row: &'static versions::Version,
    version: &'static str,
    text: &'static str,
    emit: fn() -> Result<Value, DocumentError>,
) -> Document {
    let versions::Version { base_path, path, reference, .. } = *row;
    Document { version, base_path, path, reference, text, emit }
}

impl Document {
    /// True for version 1, whose metrics have no version prefix.
    pub fn is_first(&self) -> bool {
        self.base_path == V1.base_path
    }

    /// Parses the checked-in document.
    pub fn json(&self) -> Result<Value, DocumentError> {
        serde_json::from_str(self.text).map_err(DocumentError::new)
    }

    /// Returns the document that dropshot emits from the types of the contract.
    pub fn emitted(&self) -> Result<Value, DocumentError> {
        (self.emit)()
    }
}

/// Formats a document as it is checked in and served.
pub fn text(document: &Value) -> Result<String, DocumentError> {
    serde_json::to_string_pretty(document).map(|text| text + "\n").map_err(DocumentError::new)
}
