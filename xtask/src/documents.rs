//! Provides the versions of the API. Each version names the file of its document.

pub use store_orders_versions::{V1, V2, VERSIONS as DOCUMENTS, Version as Document};
