//! The documents of the API, one for each version, with what is made of each. Programs treat them
//! as a list.
//!
//! `api/src/documents.rs` has them for the server. This program does not depend on `api`, so that it
//! runs while `api` does not compile; a test holds the two against each other.

/// A document.
#[derive(Debug)]
pub struct Document {
    /// Its file, the source of truth.
    pub file: &'static str,
    /// The file of the contract that is generated from it.
    pub contract: &'static str,
    /// The file of progenitor's client of it.
    pub client: &'static str,
    /// The path prefix of its operations.
    pub base_path: &'static str,
    /// The path under which a server has it.
    pub path: &'static str,
    /// The path under which a server has the reference that is made of it.
    pub reference: &'static str,
    /// Whether the version may still change (specification, Versioning 4).
    pub is_beta: bool,
}

/// The stable version.
pub static V1: Document = Document {
    file: "spec/openapi.json",
    contract: "api/src/v1.rs",
    client: "api/client/src/generated/v1.rs",
    base_path: "/v1",
    path: "/openapi.json",
    reference: "/docs",
    is_beta: false,
};

/// The next version, in beta.
pub static V2: Document = Document {
    file: "spec/openapi-v2.json",
    contract: "api/src/v2.rs",
    client: "api/client/src/generated/v2.rs",
    base_path: "/v2",
    path: "/openapi-v2.json",
    reference: "/docs/v2",
    is_beta: true,
};

/// The document of each version, the stable one first.
pub static DOCUMENTS: [&Document; 2] = [&V1, &V2];
