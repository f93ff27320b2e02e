//! Property tests of API keys. An independent implementation must agree about which keys are valid,
//! and messages must show no key.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// Computes the CRC-32 of `body` as six base-62 digits, without the code under test.
fn checksum(body: &[u8]) -> String {
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let value = !crc;
    let digit = |power: u32| {
        let digit = (u64::from(value) / 62_u64.pow(power) % 62) as u8;
        char::from(match digit {
            0..10 => b'0' + digit,
            10..36 => b'A' + digit - 10,
            _ => b'a' + digit - 36,
        })
    };
    (0..6).rev().map(digit).collect()
}

/// True if these bytes are a key of this environment. Does not use the code under test.
fn is_key(bytes: &[u8], environment: Environment) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let prefix = match environment {
        Environment::Production => "sto_live_",
        Environment::Staging => "sto_test_",
    };
    let Some(rest) = text.strip_prefix(prefix) else { return false };
    let is_plain = rest.chars().all(|letter| matches!(letter, '0'..='9' | 'A'..='Z' | 'a'..='z'));
    is_plain && rest.len() == 36 && checksum(&bytes[..39]) == rest[30..]
}

fn environment() -> impl Strategy<Value = Environment> {
    prop::sample::select(&Environment::ALL[..])
}

fn key() -> impl Strategy<Value = (Environment, Vec<u8>)> {
    let digits = prop::collection::vec(prop::sample::select(&ALPHABET[..]), RANDOM_CHARS);
    (environment(), digits).prop_map(|(environment, digits)| {
        let mut key = [environment.prefix().as_bytes(), &digits].concat();
        key.extend(checksum(&key).bytes());
        (environment, key)
    })
}

/// A change to a key at some position. `Case` flips the bit that distinguishes upper from lower
/// case.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(u8),
    Insert(u8),
    Remove,
    Case,
    Truncate,
}

fn change() -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(&b"0Aaz_\0\n \xff"[..])];
    prop_oneof![
        byte.clone().prop_map(Mutation::Replace),
        byte.prop_map(Mutation::Insert),
        Just(Mutation::Remove),
        Just(Mutation::Case),
        Just(Mutation::Truncate),
    ]
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn a_valid_key_has_a_digest_only_in_its_environment((environment, key) in key()) {
        let digest = Digest(Sha256::digest(&key).into());
        prop_assert!(is_key(&key, environment));
        for other in Environment::ALL {
            prop_assert_eq!(digest_of(&key, other), (other == environment).then_some(digest));
        }
    }

    #[test]
    fn changed_keys_and_random_bytes_are_accepted_exactly_if_they_are_keys(
        (_, key) in key(),
        changes in prop::collection::vec((change(), any::<Index>()), 0..3),
        noise in prop::collection::vec(any::<u8>(), 0..60),
        environment in environment(),
    ) {
        let mut changed = key;
        for (change, index) in changes {
            let index = index.index(changed.len().max(1)).min(changed.len());
            match change {
                Mutation::Insert(byte) => changed.insert(index, byte),
                Mutation::Truncate => changed.truncate(index),
                _ if changed.is_empty() => {}
                Mutation::Replace(byte) => changed[index] = byte,
                Mutation::Remove => { changed.remove(index); }
                Mutation::Case => changed[index] ^= 0x20,
            }
        }
        // Also try the changed key with a correct checksum. Otherwise, the checksum alone would
        // refuse nearly every changed key.
        let mut repaired = changed.clone();
        repaired.truncate(39);
        repaired.extend(checksum(&repaired).bytes());
        for bytes in [changed, repaired, noise] {
            let accepted = digest_of(&bytes, environment).is_some();
            prop_assert_eq!(accepted, is_key(&bytes, environment), "{:?}", bytes);
        }
    }

    #[test]
    fn without_keys_removes_any_key((_, key) in key(), before in ".{0,9}", after in ".{0,9}") {
        let key = String::from_utf8(key).unwrap();
        let text = format!("{before}{key}{after}");
        prop_assert!(!without_keys(&text).contains(&key[9..]));
    }
}
