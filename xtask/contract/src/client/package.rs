//! The package of a client for anyone's document, with a test that calls each operation once.

use super::{Version, unformatted};
use crate::workspace::version;
use crate::{Error, File, format};
use heck::ToSnakeCase;
use regex::{Captures, Regex};
use serde_json::Value;

/// The module of the document.
const MODULE: &str = "api";

/// The files by hand that the code leans on.
const FRAME: [(&str, &str); 23] = [
    ("answer", include_str!("../../../../api/client/src/answer.rs")),
    ("attempt", include_str!("../../../../api/client/src/attempt.rs")),
    ("blocking", include_str!("../../../../api/client/src/blocking.rs")),
    ("builder", include_str!("../../../../api/client/src/builder.rs")),
    ("call", include_str!("../../../../api/client/src/call.rs")),
    ("error", include_str!("../../../../api/client/src/error.rs")),
    ("error_kind", include_str!("../../../../api/client/src/error_kind.rs")),
    ("limits", include_str!("../../../../api/client/src/limits.rs")),
    ("pages", include_str!("../../../../api/client/src/pages.rs")),
    ("rate_limit", include_str!("../../../../api/client/src/rate_limit.rs")),
    ("response", include_str!("../../../../api/client/src/response.rs")),
    ("retry", include_str!("../../../../api/client/src/retry.rs")),
    ("retry_after", include_str!("../../../../api/client/src/retry_after.rs")),
    ("send", include_str!("../../../../api/client/src/send.rs")),
    ("span", include_str!("../../../../api/client/src/span.rs")),
    ("testing", include_str!("../../../../api/client/src/testing.rs")),
    ("testing/request", include_str!("../../../../api/client/src/testing/request.rs")),
    ("testing/route", include_str!("../../../../api/client/src/testing/route.rs")),
    ("testing/server", include_str!("../../../../api/client/src/testing/server.rs")),
    ("turns", include_str!("../../../../api/client/src/turns.rs")),
    ("testing/answers", ANSWERS),
    ("testing/start", START),
    ("testing/store", STORE),
];

// A test server without a state of its own.
const ANSWERS: &str = "//! The test server answers with the document's examples.

use super::route::Version;
use super::store::Store;

pub(super) const VERSIONS: &[Version] = &[crate::document::testing::VERSION];

impl crate::document::testing::Operations for Store {}
";

const START: &str = "//! Starts the test server.

use super::server::Server;
use super::store::Store;
use std::io;

impl Server {
    /// Starts a server. An error means that the system gives no thread or no port.
    pub fn start() -> io::Result<Self> {
        Self::with(Store)
    }
}
";

const STORE: &str = "//! The test server keeps nothing.

/// The key that a [`Server`](super::Server) takes.
pub const KEY: &str = \"test-key\";

#[derive(Debug)]
pub(crate) struct Store;
";

/// What the package needs; `@` is the version that this repository has.
const MANIFEST: &str = r#"[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
publish = false

[features]
default = ["rustls"]
rustls = ["reqwest/rustls"]
native-tls = ["reqwest/native-tls"]
# A client for programs without async code.
blocking = ["tokio/rt-multi-thread"]
# A server for the tests of programs that use the client.
testing = ["dep:hyper", "dep:hyper-util", "tokio/net", "tokio/rt-multi-thread"]
# A span a call.
tracing = ["dep:tracing"]

[dependencies]
chrono = { version = "@chrono", default-features = false, features = ["serde", "std"] }
fastrand = "@fastrand"
futures-core = "@futures-core"
http = "@http"
httpdate = "@httpdate"
hyper = { version = "@hyper", features = ["http1", "server"], optional = true }
hyper-util = { version = "@hyper-util", features = ["tokio"], optional = true }
progenitor-client = "@progenitor-client"
reqwest = { version = "@reqwest", default-features = false, features = ["gzip", "http2", "json", "query", "system-proxy"] }
serde = { version = "@serde", features = ["derive"] }
serde_json = "@serde_json"
thiserror = "@thiserror"
tokio = { version = "@tokio", features = ["sync", "time"] }
tracing = { version = "@tracing", default-features = false, features = ["std"], optional = true }

[dev-dependencies]
{name} = { path = ".", features = ["blocking", "testing"] }
tokio = { version = "@tokio", features = ["macros", "rt-multi-thread"] }
"#;

/// The package of this name for a document of this file.
pub fn package(document: &Value, source: &str, name: &str) -> Result<Vec<File>, Error> {
    let version = Version { document, source, module: MODULE, feature: None };
    let (code, test) = unformatted(&[version], &format!("cargo xtask contract {source}"))?;
    let library = name.to_snake_case();
    let has_pages = code.iter().any(|(_, text)| text.contains("impl PagedRequest for"));
    let is_frame = |name: &str| has_pages || name != "pages";
    let mut sources: Vec<File> =
        code.into_iter().map(|(name, text)| (format!("src/{name}"), text)).collect();
    for (file, text) in FRAME.iter().filter(|(name, _)| is_frame(name)) {
        // Their tests are those of this repository.
        let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let text =
            text.replace("store_orders_client", &library).replace("store-orders-client", name);
        let text = text.replace("\"store_orders\"", &format!("{library:?}"));
        sources.push((format!("src/{file}.rs"), text));
    }
    sources.push(("src/lib.rs".to_string(), root(document, has_pages)));
    sources.push(("tests/operations.rs".to_string(), test.replace("{library}", &library)));
    let mut files = format::format_files(sources)?;
    files.push(("Cargo.toml".to_string(), manifest(name)));
    Ok(files)
}

fn root(document: &Value, has_pages: bool) -> String {
    let title = document.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let is_top = |name: &&str| !name.contains('/') && (has_pages || *name != "pages");
    let modules = FRAME.iter().map(|(name, _)| *name).filter(is_top).map(|name| match name {
        "blocking" | "testing" => format!("#[cfg(feature = {name:?})]\npub mod {name};\n"),
        _ => format!("mod {name};\n"),
    });
    let pages = match has_pages {
        true => {
            "#[cfg(feature = \"blocking\")]\npub use pages::BlockingPages;\npub use pages::Pages;\n"
        }
        false => "",
    };
    format!(
        "//! A client of {title}: see [`Client`].\n\nmod {MODULE};\n{}\npub(crate) use {MODULE} as document;\n\n\
         pub use {MODULE}::*;\npub use attempt::Attempt;\npub use builder::{{BuildError, ClientBuilder}};\npub use error::Error;\n\
         pub use error_kind::ErrorKind;\n{pages}pub use rate_limit::RateLimit;\npub use reqwest;\npub use response::Response;\npub use retry::RetryPolicy;\n",
        modules.collect::<String>(),
    )
}

fn manifest(name: &str) -> String {
    let text = MANIFEST.replace("{name}", name);
    let Ok(pattern) = Regex::new("@([a-z_-]+)") else { return text };
    pattern.replace_all(&text, |found: &Captures<'_>| version(&found[1])).into_owned()
}
