//! The versions of the API, each with its document.

pub use store_orders_versions::{V1, V2, VERSIONS as DOCUMENTS, Version as Document};
