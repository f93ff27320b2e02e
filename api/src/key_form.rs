//! The format of API keys, as in `bearerFormat` of each document.

pub const PRODUCTION_PREFIX: &str = "sto_live_";

pub const STAGING_PREFIX: &str = "sto_test_";

/// The number of random base-62 characters after the prefix: more than 178 bits of entropy.
pub const RANDOM_CHARS: usize = 30;

/// The number of base-62 characters of the checksum, which ends the key.
pub const CHECKSUM_CHARS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{v1, v2};

    #[test]
    fn the_key_format_matches_the_documents() {
        let chars = RANDOM_CHARS + CHECKSUM_CHARS;
        let form = format!("^({PRODUCTION_PREFIX}|{STAGING_PREFIX})[0-9A-Za-z]{{{chars}}}$");
        assert_eq!(form, v1::API_KEY_BEARER_FORMAT);
        assert_eq!(form, v2::API_KEY_BEARER_FORMAT);
    }
}
