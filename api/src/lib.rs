//! The contract of Store Orders in Rust: the types and traits that the server implements. It does
//! not depend on the server.
//!
//! The documents in `spec/` are the source of truth, one for each version of the API. `cargo xtask
//! generate` generates a module for each version, such as [`v1`], with the trait that handlers
//! implement. The shared parts are written by hand: requests and responses ([`operation`]), strict
//! parameters ([`parameters`]), the document that dropshot emits ([`emission`]), the middleware's
//! errors and headers ([`errors`], [`headers`]), and constants that the documents mention only in
//! prose ([`limit_constants`], [`key_form`]).

pub mod documents;
pub mod emission;
pub mod errors;
pub mod headers;
pub mod key_form;
pub mod limit_constants;
pub mod operation;
pub mod parameters;
pub mod plans;
pub mod schemas;
pub mod types;

/// Declares the generated module of each version.
macro_rules! contracts {
    ($($module:ident $name:ident $row:tt)*) => {
        $(
            pub mod $module;
        )*
    };
}
store_orders_versions::with_versions!(contracts);

/// The stable version of the API: `info.version` of its document.
pub const API_VERSION: &str = documents::V1.version;

/// The path prefix of the stable version's operations: the version is part of the base address
/// (specification, Versioning 1).
pub const BASE_PATH: &str = documents::V1.base_path;
