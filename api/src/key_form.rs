//! The form of API keys: the one source for the document's `bearerFormat` and
//! for the server, which issues and checks keys.

/// What every key of the production environment begins with.
pub const PRODUCTION_PREFIX: &str = "sto_live_";

/// What every key of the staging environment begins with.
pub const STAGING_PREFIX: &str = "sto_test_";

/// Random base-62 characters after the prefix: about 178 bits.
pub const RANDOM_CHARS: usize = 30;

/// Base-62 characters of the checksum, at the end.
pub const CHECKSUM_CHARS: usize = 6;

/// The form of a key as a regular expression.
pub fn pattern() -> String {
    let chars = RANDOM_CHARS + CHECKSUM_CHARS;
    format!("^({PRODUCTION_PREFIX}|{STAGING_PREFIX})[0-9A-Za-z]{{{chars}}}$")
}
