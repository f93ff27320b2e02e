//! The table of API versions. The server and the tools share this crate, because neither depends on
//! the other.

#[derive(Debug)]
pub struct Version {
    /// The name of the version's modules in Rust, such as `v1`.
    pub module: &'static str,
    /// The file of the document, the source of truth.
    pub file: &'static str,
    /// The file of the contract: the Rust types and the trait `Api`, generated from the document.
    pub contract: &'static str,
    /// The file of progenitor's client, generated from the document.
    pub client: &'static str,
    /// The path prefix of the operations, such as `/v1`.
    pub base_path: &'static str,
    /// The path under which the server publishes the document.
    pub path: &'static str,
    /// The path under which the server publishes the reference page of the document.
    pub reference: &'static str,
    /// What distinguishes this version from the others, in a few words, for people who choose a
    /// version.
    pub about: &'static str,
}

/// Calls a macro with the table of versions, which has a row for each version in ascending order.
#[macro_export]
macro_rules! with_versions {
    ($callback:ident) => {
        $callback! {
            v1 V1 {
                file: "spec/openapi.json",
                path: "/openapi.json",
                reference: "/docs/v1",
                about: "The whole list of orders",
            }
            v2 V2 {
                file: "spec/openapi-v2.json",
                path: "/openapi-v2.json",
                reference: "/docs/v2",
                about: "The list in pages, with filters and the status of each order",
            }
        }
    };
}

macro_rules! versions {
    ($($module:ident $name:ident {
        file: $file:literal,
        path: $path:literal,
        reference: $reference:literal,
        about: $about:literal,
    })*) => {
        $(
            #[doc = concat!("Version `", stringify!($module), "`: ", $about, ".")]
            pub static $name: Version = Version {
                module: stringify!($module),
                file: $file,
                contract: concat!("api/src/", stringify!($module), ".rs"),
                client: concat!("api/client/src/generated/", stringify!($module), ".rs"),
                base_path: concat!("/", stringify!($module)),
                path: $path,
                reference: $reference,
                about: $about,
            };
        )*

        /// All versions, in ascending order.
        pub static VERSIONS: [&Version; [$(stringify!($module)),*].len()] = [$(&$name),*];
    };
}

with_versions!(versions);
