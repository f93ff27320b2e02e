//! Re-exports the API's versions under the name [`Document`], because xtask works with the document
//! of each version.

pub use store_orders_versions::{V1, V2, VERSIONS as DOCUMENTS, Version as Document};
