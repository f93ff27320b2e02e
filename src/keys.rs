//! API keys: their form, their digest, and the ring of keys that the server
//! knows. Whether a request is let in is not decided here.

use crate::clock::Now;
use clap::ValueEnum;
use rand::RngExt;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use store_orders_api::plans::{Plan, PlanLimits};

/// Which of the two environments a server runs in and a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Keys that begin with `sto_live_`.
    Production,
    /// Keys that begin with `sto_test_`.
    Staging,
}

impl Environment {
    /// Both environments.
    pub const ALL: [Environment; 2] = [Environment::Production, Environment::Staging];

    /// What every key of the environment begins with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Environment::Production => "sto_live_",
            Environment::Staging => "sto_test_",
        }
    }

    /// The name as the command line and the store write it.
    pub const fn name(self) -> &'static str {
        match self {
            Environment::Production => "production",
            Environment::Staging => "staging",
        }
    }

    /// The environment of this [`name`](Environment::name), if there is one.
    pub fn named(name: &str) -> Option<Environment> {
        Environment::ALL.into_iter().find(|environment| environment.name() == name)
    }
}

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX_LENGTH: usize = 9;
const RANDOM_LENGTH: usize = 30;
const CHECKSUM_LENGTH: usize = 6;
const KEY_LENGTH: usize = PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH;

/// A whole API key. It exists while it is issued and nowhere else: `Debug` does
/// not show it, the store never sees it.
#[derive(Debug)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// A new key from the system's random source: 30 base-62 characters, about
    /// 178 bits, then the checksum.
    pub fn generate(environment: Environment) -> ApiKey {
        let mut key = environment.prefix().to_string();
        key.push_str(&random_text(RANDOM_LENGTH));
        let checksum = checksum_of(key.as_bytes());
        key.extend(checksum.iter().map(|digit| char::from(*digit)));
        ApiKey(SecretString::from(key))
    }

    /// The key itself, to be shown once, at issue.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// What the store keeps of the key.
    pub fn digest(&self) -> Digest {
        Digest::of(self.expose().as_bytes())
    }
}

/// A new key id: `key_` and 12 base-62 characters. It is no secret.
pub fn new_key_id() -> String {
    format!("key_{}", random_text(12))
}

fn random_text(length: usize) -> String {
    let mut random = rand::rng();
    (0..length).map(|_| char::from(base62_digit(random.random_range(0..62_u32)))).collect()
}

/// What somebody wrote where an id or a name belongs, as an error may repeat it:
/// a key that was written there by mistake is not.
pub fn repeatable(written: &str) -> &str {
    let holds_key = Environment::ALL.iter().any(|kind| written.contains(kind.prefix()));
    if holds_key { "(withheld: it looks like a key itself)" } else { written }
}

/// SHA-256 of a whole key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    fn of(key: &[u8]) -> Digest {
        Digest(Sha256::digest(key).into())
    }
}

/// A digest is no key, but it is nobody's business either.
impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(..)")
    }
}

/// The digest of what a caller presented, if it has the form of a key for this
/// environment: prefix, length, alphabet and checksum.
pub fn digest_of(presented: &[u8], environment: Environment) -> Option<Digest> {
    if presented.len() != KEY_LENGTH || !presented.starts_with(environment.prefix().as_bytes()) {
        return None;
    }
    let (body, checksum) = presented.split_at_checked(PREFIX_LENGTH + RANDOM_LENGTH)?;
    let well_formed = presented.iter().skip(PREFIX_LENGTH).all(u8::is_ascii_alphanumeric)
        && checksum == checksum_of(body);
    well_formed.then(|| Digest::of(presented))
}

/// CRC-32 of what precedes, as six base-62 digits, the highest first: a typing
/// error is told apart from an unknown key without a look-up.
fn checksum_of(body: &[u8]) -> [u8; CHECKSUM_LENGTH] {
    let mut rest = crc32fast::hash(body);
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = base62_digit(rest % 62);
        rest /= 62;
    }
    digits
}

fn base62_digit(value: u32) -> u8 {
    ALPHABET.get(value as usize).copied().unwrap_or(b'0')
}

/// A key that was issued, as the ring holds it.
#[derive(Debug)]
pub struct KnownKey {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`, as lists and logs show it.
    pub id: Arc<str>,
    /// The row of its account in the store.
    pub account: i64,
    /// The plan of its account.
    pub plan: Plan,
    /// The limits of its account.
    pub limits: PlanLimits,
    /// Wall time in milliseconds from which the key is refused.
    pub expires_at_ms: Option<i64>,
    /// The operator revoked it.
    pub revoked: bool,
    /// Wall time in milliseconds at which its use was last noted; 0 if never.
    pub used_at_ms: AtomicI64,
}

/// How often the use of a key is noted at most.
const NOTED_EVERY_MS: i64 = 60_000;

impl KnownKey {
    /// Whether this use of the key is to be noted: once a minute one caller is
    /// told so.
    pub fn is_to_be_noted(&self, now: Now) -> bool {
        let (last, now) = (self.used_at_ms.load(Ordering::Relaxed), now.wall_ms());
        // A wall clock that was set back would otherwise silence the key.
        let due = now.abs_diff(last) >= NOTED_EVERY_MS as u64;
        due && self
            .used_at_ms
            .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

/// Why a key was refused: for the log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or none of the scheme `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not the form of a key for this environment.
    Malformed,
    /// Never issued here.
    Unknown,
    /// Revoked by the operator.
    Revoked,
    /// Past its time.
    Expired,
}

impl KeyRefusal {
    /// The reason as the log writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyRefusal::NoKey => "no_key",
            KeyRefusal::SeveralHeaders => "several_authorization_headers",
            KeyRefusal::Malformed => "malformed_key",
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// Every key that was ever issued, by its digest. A ring never changes; the
/// server swaps in a new one when the store says that it has.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: HashMap<Digest, KnownKey>,
}

impl KeyRing {
    /// The ring of these keys.
    pub fn new(keys: impl IntoIterator<Item = (Digest, KnownKey)>) -> KeyRing {
        KeyRing { keys: keys.into_iter().collect() }
    }

    /// The key that the caller presented, if it is known and valid now.
    pub fn find(
        &self,
        presented: &[u8],
        environment: Environment,
        now: Now,
    ) -> Result<&KnownKey, KeyRefusal> {
        let digest = digest_of(presented, environment).ok_or(KeyRefusal::Malformed)?;
        let key = self.keys.get(&digest).ok_or(KeyRefusal::Unknown)?;
        if key.revoked {
            return Err(KeyRefusal::Revoked);
        }
        match key.expires_at_ms {
            Some(expiry) if now.wall_ms() >= expiry => Err(KeyRefusal::Expired),
            _ => Ok(key),
        }
    }

    /// How many keys the ring holds.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key was ever issued.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_has_the_form_of_its_environment_alone() {
        for environment in Environment::ALL {
            let key = ApiKey::generate(environment);
            assert_eq!(key.expose().len(), 45);
            assert_eq!(digest_of(key.expose().as_bytes(), environment), Some(key.digest()));
            for other in Environment::ALL.into_iter().filter(|other| *other != environment) {
                assert_eq!(digest_of(key.expose().as_bytes(), other), None);
            }
        }
    }

    #[test]
    fn any_one_changed_character_is_refused() {
        let key = ApiKey::generate(Environment::Production).expose().to_string().into_bytes();
        for position in 0..key.len() {
            let mut changed = key.clone();
            changed[position] = if changed[position] == b'x' { b'y' } else { b'x' };
            assert_eq!(digest_of(&changed, Environment::Production), None, "position {position}");
        }
    }

    #[test]
    fn the_checksum_is_crc_32_in_base_62() {
        // CRC-32 of "123456789" is 0xCBF43926 = 3421780262.
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
        assert!(!shown.contains(key.expose()) && !shown.contains("sto_test_"), "{shown}");
    }
}
