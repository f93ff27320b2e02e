//! The contract of Store Orders in Rust. It does not depend on the server that implements it.
//!
//! The documents in `spec/` are the source of truth, one for each version of the API.
//! `cargo xtask generate` writes from each what the server must keep: [`v1`] and [`v2`], with the
//! trait that handlers implement. By hand are the parts that they share: requests and answers
//! ([`answer`]), strict parameters ([`parameters`]), the document that dropshot emits ([`emission`]),
//! the middleware's errors and headers ([`errors`], [`headers`]), and the figures that no document
//! has for programs ([`limits`], [`key_form`]).

pub mod answer;
pub mod documents;
pub mod emission;
pub mod errors;
pub mod headers;
pub mod key_form;
pub mod limits;
pub mod parameters;
pub mod plans;
pub mod schemas;
pub mod types;
pub mod v1;
#[expect(missing_docs, reason = "the document does not describe each value of a parameter")]
pub mod v2;

/// The stable version of the API: `info.version` of its document.
pub const API_VERSION: &str = documents::V1.version;

/// The path prefix of the stable version's operations: the version is part of the base address
/// (specification, Versioning 1).
pub const BASE_PATH: &str = documents::V1.base_path;
