//! The form of API keys, as the document's `bearerFormat` states it.

/// What every key of the production environment begins with.
pub const PRODUCTION_PREFIX: &str = "sto_live_";

/// What every key of the staging environment begins with.
pub const STAGING_PREFIX: &str = "sto_test_";

/// Random base-62 characters after the prefix: about 178 bits.
pub const RANDOM_CHARS: usize = 30;

/// Base-62 characters of the checksum, at the end.
pub const CHECKSUM_CHARS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{v1, v2};

    #[test]
    fn keys_have_the_form_that_the_documents_state() {
        let chars = RANDOM_CHARS + CHECKSUM_CHARS;
        let form = format!("^({PRODUCTION_PREFIX}|{STAGING_PREFIX})[0-9A-Za-z]{{{chars}}}$");
        assert_eq!(form, v1::API_KEY_BEARER_FORMAT);
        assert_eq!(form, v2::API_KEY_BEARER_FORMAT);
    }
}
