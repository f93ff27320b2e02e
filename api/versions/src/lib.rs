//! The table of API versions, shared by the server and the tools, which do not depend on each
//! other.

/// A version of the API.
#[derive(Debug)]
pub struct Version {
    /// The file of the document, the source of truth.
    pub file: &'static str,
    /// The file of the contract, generated from the document.
    pub contract: &'static str,
    /// The file of progenitor's client, generated from the document.
    pub client: &'static str,
    /// The path prefix of the operations: the version is part of the base address (specification,
    /// Versioning 1).
    pub base_path: &'static str,
    /// The path under which the server publishes the document.
    pub path: &'static str,
    /// The path under which the server publishes the reference page of the document.
    pub reference: &'static str,
}

/// Version 1, which lists all orders at once.
pub static V1: Version = Version {
    file: "spec/openapi.json",
    contract: "api/src/v1.rs",
    client: "api/client/src/generated/v1.rs",
    base_path: "/v1",
    path: "/openapi.json",
    reference: "/docs",
};

/// Version 2, for new programs: lists orders in pages, with filters and statuses.
pub static V2: Version = Version {
    file: "spec/openapi-v2.json",
    contract: "api/src/v2.rs",
    client: "api/client/src/generated/v2.rs",
    base_path: "/v2",
    path: "/openapi-v2.json",
    reference: "/docs/v2",
};

/// All versions, in ascending order.
pub static VERSIONS: [&Version; 2] = [&V1, &V2];
