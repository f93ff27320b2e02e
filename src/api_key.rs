//! Generates, validates and hashes API keys. The store saves only a key's SHA-256 digest, never the
//! key.

use clap::ValueEnum;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use store_orders_api::key_form::{CHECKSUM_CHARS, PRODUCTION_PREFIX, RANDOM_CHARS, STAGING_PREFIX};
use strum::{EnumString, IntoStaticStr};

/// The environment of a server or a key. A key is valid only at servers of its environment.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Environment {
    /// Keys that begin with `sto_live_`.
    Production,
    /// Keys that begin with `sto_test_`.
    Staging,
}

impl Environment {
    pub const ALL: [Environment; 2] = [Environment::Production, Environment::Staging];

    pub const fn prefix(self) -> &'static str {
        match self {
            Environment::Production => PRODUCTION_PREFIX,
            Environment::Staging => STAGING_PREFIX,
        }
    }

    /// The environment's name on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The length of each of the two prefixes. A test checks that the two have the same length.
const PREFIX_BYTES: usize = PRODUCTION_PREFIX.len();
const KEY_BYTES: usize = PREFIX_BYTES + RANDOM_CHARS + CHECKSUM_CHARS;

/// A whole API key, which exists only while the key is being issued. The store gets only the
/// digest.
pub struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

impl ApiKey {
    pub fn generate(environment: Environment) -> ApiKey {
        let mut key = environment.prefix().to_string();
        key.push_str(&random_text(RANDOM_CHARS));
        let checksum = checksum_of(key.as_bytes());
        key.extend(checksum.iter().map(|digit| char::from(*digit)));
        ApiKey(key)
    }

    /// Returns the key as text. Commands show the key only once, when they issue it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the digest, which the store saves instead of the key.
    pub fn digest(&self) -> Digest {
        Digest::hash_key(self.expose().as_bytes())
    }
}

/// Generates a key id, which is `key_` and 12 base-62 characters. A key id is not a secret.
pub fn new_key_id() -> String {
    format!("key_{}", random_text(12))
}

fn random_text(length: usize) -> String {
    let mut random = rand::rng();
    (0..length).map(|_| char::from(base62_digit(random.random_range(0..62_u32)))).collect()
}

/// Redacts the letters and digits after each key prefix, because messages may repeat a key that the
/// operator typed.
pub fn without_keys(text: &str) -> String {
    let mut redacted = text.to_string();
    for prefix in Environment::ALL.map(Environment::prefix) {
        let mut begin = 0;
        while let Some(rest) = redacted.get(begin..).and_then(|rest| rest.split_once(prefix)) {
            begin += rest.0.len() + prefix.len();
            let key = rest.1.chars().take_while(char::is_ascii_alphanumeric).count();
            if key > 0 {
                redacted.replace_range(begin..begin + key, "...");
            }
        }
    }
    redacted
}

/// True if a key with this expiry has expired. Times are Unix milliseconds. `None` means that the
/// key never expires.
pub fn is_expired(expires_at_ms: Option<i64>, now_ms: i64) -> bool {
    expires_at_ms.is_some_and(|end| end <= now_ms)
}

/// SHA-256 of a whole key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    fn hash_key(key: &[u8]) -> Digest {
        Digest(Sha256::digest(key).into())
    }
}

/// Hides the digest. Logs identify a key by its id.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// Returns the digest with which a presented key is looked up. Returns `None` if the key is
/// malformed or of another environment, so that such a key causes no lookup.
pub fn digest_of(presented: &[u8], environment: Environment) -> Option<Digest> {
    (environment_of(presented)? == environment).then(|| Digest::hash_key(presented))
}

/// Returns the environment of a presented key, or `None` if its prefix, length, alphabet or
/// checksum is wrong.
pub fn environment_of(presented: &[u8]) -> Option<Environment> {
    let environment = prefix_environment(presented).filter(|_| has_key_form(presented))?;
    let (body, checksum) = presented.split_at_checked(PREFIX_BYTES + RANDOM_CHARS)?;
    (checksum == checksum_of(body)).then_some(environment)
}

/// True if a presented key has a valid prefix, length and alphabet. Its checksum may be wrong.
pub fn has_key_form(presented: &[u8]) -> bool {
    prefix_environment(presented).is_some()
        && presented.len() == KEY_BYTES
        && presented.iter().skip(PREFIX_BYTES).all(u8::is_ascii_alphanumeric)
}

fn prefix_environment(presented: &[u8]) -> Option<Environment> {
    let has_prefix = |kind: &Environment| presented.starts_with(kind.prefix().as_bytes());
    Environment::ALL.into_iter().find(has_prefix)
}

/// Returns the CRC-32 as six base-62 digits, the most significant first. The checksum saves a
/// lookup in the store for a mistyped key.
fn checksum_of(body: &[u8]) -> [u8; CHECKSUM_CHARS] {
    let mut rest = crc32fast::hash(body);
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = base62_digit(rest % 62);
        rest /= 62;
    }
    digits
}

fn base62_digit(value: u32) -> u8 {
    ALPHABET.get(value as usize).copied().unwrap_or(b'0')
}

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_is_only_valid_in_its_environment() {
        for environment in Environment::ALL {
            let key = ApiKey::generate(environment);
            assert_eq!(key.expose().len(), KEY_BYTES);
            assert_eq!(environment.prefix().len(), PREFIX_BYTES);
            assert_eq!(digest_of(key.expose().as_bytes(), environment), Some(key.digest()));
            for other in Environment::ALL.into_iter().filter(|other| *other != environment) {
                assert_eq!(digest_of(key.expose().as_bytes(), other), None);
            }
        }
    }

    #[test]
    fn without_keys_redacts_all_but_the_prefix() {
        let keys = Environment::ALL.map(|kind| ApiKey::generate(kind).expose().to_string());
        let text =
            format!("there is no key \"{}\", nor {}; sto_live_ begins one", keys[0], keys[1]);
        let expected = "there is no key \"sto_live_...\", nor sto_test_...; sto_live_ begins one";
        assert_eq!(without_keys(&text), expected);
        assert_eq!(without_keys(&keys[0][..10]), "sto_live_...");
        let help = "Keys begin with `sto_live_`.";
        assert_eq!(without_keys(help), help);
    }

    #[test]
    fn a_key_with_one_changed_character_is_invalid() {
        let key = ApiKey::generate(Environment::Production).expose().to_string().into_bytes();
        for position in 0..key.len() {
            let mut changed = key.clone();
            changed[position] = if changed[position] == b'x' { b'y' } else { b'x' };
            assert_eq!(digest_of(&changed, Environment::Production), None, "position {position}");
        }
    }

    #[test]
    fn the_checksum_is_crc_32_in_base_62() {
        // The published check value: the CRC-32 of "123456789" is 0xCBF43926 = 3421780262.
        let digits = checksum_of(b"123456789");
        let value = digits.iter().fold(0_u64, |value, digit| {
            let position = ALPHABET.iter().position(|letter| letter == digit).unwrap();
            value * 62 + position as u64
        });
        assert_eq!(value, 0xCBF4_3926);
    }

    #[test]
    fn debug_shows_no_key() {
        let key = ApiKey::generate(Environment::Staging);
        let shown = format!("{key:?} {:?}", key.digest());
        assert_eq!(shown, "ApiKey(..) Digest(..)");
    }
}
