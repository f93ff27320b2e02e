//! The versions of the API, each with its document. Programs treat them as a list.

pub use store_orders_versions::{V1, V2, VERSIONS as DOCUMENTS, Version as Document};
