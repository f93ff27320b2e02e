//! The contract of Store Orders in Rust: the traits that the server implements, and their types.
//! This crate does not depend on the server.
//!
//! `cargo xtask generate` generates a module for each API version, such as [`v1`], from the
//! documents in `spec/`. The other modules are written by hand.

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

macro_rules! contracts {
    ($($module:ident $name:ident $row:tt)*) => {
        $(
            pub mod $module;
        )*
    };
}
store_orders_versions::with_versions!(contracts);

/// The version number of version 1 of the API: `info.version` of its document.
pub const API_VERSION: &str = documents::V1.version;

/// Every path of version 1 begins with this prefix.
pub const BASE_PATH: &str = documents::V1.base_path;
