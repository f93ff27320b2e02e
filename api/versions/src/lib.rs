//! The versions of the API: one table for the server and for the tools, which do not depend on each
//! other.

/// A version of the API.
#[derive(Debug)]
pub struct Version {
    /// File of its document, the source of truth.
    pub file: &'static str,
    /// File of the contract that is generated from the document.
    pub contract: &'static str,
    /// File of progenitor's client that is generated from the document.
    pub client: &'static str,
    /// Path prefix of its operations: the version is part of the base address (specification,
    /// Versioning 1).
    pub base_path: &'static str,
    /// Path under which a server has the document.
    pub path: &'static str,
    /// Path under which a server has the reference page that is made of the document.
    pub reference: &'static str,
}

/// The first version: the whole list of orders.
pub static V1: Version = Version {
    file: "spec/openapi.json",
    contract: "api/src/v1.rs",
    client: "api/client/src/generated/v1.rs",
    base_path: "/v1",
    path: "/openapi.json",
    reference: "/docs",
};

/// The version for new programs: the list in pages, with filters and the status of each order.
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
