//! Lists the API versions. Each version has its checked-in document, the document that dropshot
//! emits, and its operations.

use crate::emission::DocumentError;
use dropshot::{ApiDescription, ServerContext};
use serde_json::Value;
use store_orders_versions as versions;

pub use store_orders_versions::with_versions;

/// The OpenAPI document of one API version, and where the server publishes it.
#[derive(Debug)]
pub struct Document {
    /// The version number in the document's `info.version`.
    pub version: &'static str,
    /// The name of the version, such as `v1`.
    pub name: &'static str,
    /// A few words that tell people how this version differs from the others.
    pub about: &'static str,
    pub base_path: &'static str,
    /// The path under which the server publishes the document.
    pub path: &'static str,
    /// The path under which the server publishes the reference page.
    pub reference: &'static str,
    /// The checked-in document, in JSON.
    pub text: &'static str,
    pub error_codes: fn() -> Vec<&'static str>,
    emit: fn() -> Result<Value, DocumentError>,
}

pub const COUNT: usize = versions::VERSIONS.len();

macro_rules! documents {
    ($($module:ident $name:ident { file: $file:literal, $($column:ident: $value:literal,)* })*) => {
        $(
            #[doc = concat!("The document of `", stringify!($module), "`.")]
            pub static $name: Document = document(
                &versions::$name,
                crate::$module::VERSION,
                include_str!(concat!("../../", $file)),
                || crate::$module::ErrorCode::VALUES.iter().map(|(code, _)| *code).collect(),
                crate::$module::emitted,
            );
        )*

        /// The document of each version, in ascending order.
        pub static DOCUMENTS: [&Document; COUNT] = [$(&$name),*];

        /// Returns the API description of each version, in the order of [`DOCUMENTS`]. The methods
        /// of `H` are the handlers.
        pub fn api_descriptions<H, C>() -> Result<[ApiDescription<C>; COUNT], DocumentError>
        where
            C: ServerContext,
            H: $(crate::$module::Api<Context = C> +)*
        {
            Ok([$(crate::$module::api_description::<H>()?),*])
        }
    };
}
versions::with_versions!(documents);

const fn document(
    row: &'static versions::Version,
    version: &'static str,
    text: &'static str,
    error_codes: fn() -> Vec<&'static str>,
    emit: fn() -> Result<Value, DocumentError>,
) -> Document {
    let versions::Version { module: name, about, base_path, path, reference, .. } = *row;
    Document { version, name, about, base_path, path, reference, text, error_codes, emit }
}

/// Returns the newest document whose `info.version` has no pre-release part, such as `-beta.1`.
pub fn newest_stable() -> &'static Document {
    let is_stable = |document: &&&Document| !document.version.contains('-');
    DOCUMENTS.iter().rfind(is_stable).copied().unwrap_or(&V1)
}

impl Document {
    /// True for version 1. In the metrics, the routes of version 1 have no version prefix. Routes
    /// of later versions have one, such as `v2/listOrders`.
    pub fn is_first(&self) -> bool {
        self.base_path == V1.base_path
    }

    /// Parses the checked-in document. Fails only if it is not JSON.
    pub fn json(&self) -> Result<Value, DocumentError> {
        serde_json::from_str(self.text).map_err(DocumentError::new)
    }

    /// Returns the document that dropshot emits from the types of the contract.
    pub fn emitted(&self) -> Result<Value, DocumentError> {
        (self.emit)()
    }
}

pub fn text(document: &Value) -> Result<String, DocumentError> {
    serde_json::to_string_pretty(document).map(|text| text + "\n").map_err(DocumentError::new)
}
