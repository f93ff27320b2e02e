//! The root of a version: its modules, and what it exports.

use super::{Parts, paragraphs};

/// The names that the client has for itself.
pub const OWN: [&str; 16] = [
    "Attempt",
    "Blocking",
    "BlockingPages",
    "BuildError",
    "Client",
    "ClientBuilder",
    "Error",
    "ErrorBody",
    "ErrorCode",
    "ErrorKind",
    "Pages",
    "RateLimit",
    "Response",
    "RetryPolicy",
    "DateTime",
    "Utc",
];

pub fn root(parts: &Parts<'_>) -> String {
    let (title, version) = (parts.info("title"), parts.info("version"));
    let is_beta = version.contains('-');
    let about = format!("//! {title} {version}: the client of {}.\n", parts.version.source);
    let beta = "//!\n//! **A beta may change.** A minor release of this crate may change or remove this module.\n//!\n\
                //! The client is that of the crate's root in all else: retries, errors, limits, time-outs\n//! and spans. \
                Each page of a list is a call of its own.\n";
    let errors = if parts.is_main { "pub(crate) mod errors;\n" } else { "" };
    let values = if parts.has_values() { "pub(crate) mod values;\n" } else { "" };
    let visible = if parts.is_main { "pub(crate)" } else { "pub" };
    format!(
        "{about}{}\n\
         #[cfg(feature = \"blocking\")]\n{visible} mod blocking;\n{errors}\
         #[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = \"generated\")]\n\
         pub(crate) mod http;\nmod operations;\nmod records;\n\
         #[cfg(feature = \"testing\")]\npub(crate) mod testing;\n{values}\n{}",
        if is_beta { beta } else { "" },
        exports(parts),
    )
}

fn exports(parts: &Parts<'_>) -> String {
    let error = &parts.errors().schema;
    let types = parts.core().types.iter().filter(|name| *name != error && *name != "error");
    let types: Vec<_> = types.cloned().collect();
    let values: Vec<_> = parts.source.rust.enums.iter().map(|of| of.name.clone()).collect();
    let list = |path: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("pub use {path}::{{{}}};\n", names.join(", ")),
    };
    let error_body = if parts.is_main {
        format!("pub use errors::{{ErrorCode, {error} as ErrorBody}};\n")
            .replace(&format!("{error} as ErrorBody"), "ErrorBody")
    } else {
        String::new()
    };
    error_body
        + &list("http::types", &types)
        + "pub use operations::*;\n"
        + &list("values", &values)
}

/// The paragraphs above a client.
pub fn about_client(parts: &Parts<'_>) -> String {
    let title = parts.info("title");
    paragraphs(
        0,
        &[format!(
            "A client of {title}{}. Cloning is cheap and shares the connections.",
            if parts.is_main { String::new() } else { format!(" {}", parts.info("version")) }
        )],
    )
}
