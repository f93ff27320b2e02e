//! The versions of the API, each with its document. Programs treat them as a list.

use crate::emission::{DocumentError, text};
use crate::{v1, v2};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// A version of the API and its document.
#[derive(Debug)]
pub struct Document {
    /// `info.version`.
    pub version: &'static str,
    /// The path prefix of its operations: the version is part of the base address
    /// (specification, Versioning 1).
    pub base_path: &'static str,
    /// The file in the repository that is its source of truth.
    pub file: &'static str,
    /// The path under which a server has it.
    pub path: &'static str,
    /// The path under which a server has the reference that is made of it.
    pub reference: &'static str,
    /// Whether the version may still change (specification, Versioning 4).
    pub is_beta: bool,
    emit: fn() -> Result<Value, DocumentError>,
}

/// The stable version.
pub static V1: Document = Document {
    version: v1::VERSION,
    base_path: v1::BASE_PATH,
    file: "spec/openapi.json",
    path: "/openapi.json",
    reference: "/docs",
    is_beta: false,
    emit: v1::document,
};

/// The next version, in beta: the list in pages, with filters and the status of each order.
pub static V2: Document = Document {
    version: v2::VERSION,
    base_path: v2::BASE_PATH,
    file: "spec/openapi-v2.json",
    path: "/openapi-v2.json",
    reference: "/docs/v2",
    is_beta: true,
    emit: v2::document,
};

/// The document of each version.
pub static DOCUMENTS: [&Document; 2] = [&V1, &V2];

impl Document {
    /// Whether this is v1; its metrics have no version prefix.
    pub fn is_first(&self) -> bool {
        self.base_path == V1.base_path
    }

    /// The document, as the server emits it.
    pub fn emitted(&self) -> Result<Value, DocumentError> {
        (self.emit)()
    }

    /// The emitted document as text.
    pub fn emitted_text(&self) -> Result<String, DocumentError> {
        text(&self.emitted()?)
    }

    /// What follows the base path in this path; none if it is not below the base path. An encoded
    /// letter or digit of the base path is equal to that letter or digit (RFC 3986, 6.2.2.2).
    pub fn relative_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (first, _) = path.strip_prefix('/')?.split_once('/')?;
        let (base, relative) = path.split_at(1 + first.len());
        percent_decode_str(base).eq(self.base_path.bytes()).then_some(relative)
    }
}
