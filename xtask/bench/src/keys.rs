//! Keys by the hundred thousand, written to a store directly: their form is part
//! of the published contract, and issuing them one by one would take hours.

use crate::lists::LIST;
use crate::load::{Work, request};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::atomic::AtomicUsize;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The production key of this number. It is as good as any other for the server
/// that is measured, and for no other one.
pub fn key(number: u64) -> String {
    let body = format!("sto_live_{}", base62(u128::from(number), 30));
    let checksum = base62(u128::from(crc32fast::hash(body.as_bytes())), 6);
    body + &checksum
}

/// Numbers of keys that no account has.
const NEVER_ISSUED: std::ops::Range<u64> = u64::MAX / 2..u64::MAX / 2 + 50_000;

/// Requests for the list, each with another well-formed key that was never issued.
pub fn unknown() -> Work {
    let asked = |number| request("GET", LIST, Some(&key(number)), false);
    Work::InTurn(NEVER_ISSUED.map(asked).collect(), AtomicUsize::new(0))
}

fn base62(mut value: u128, digits: usize) -> String {
    let mut text = vec!['0'; digits];
    for digit in text.iter_mut().rev() {
        let remainder = (value % 62) as usize;
        *digit = ALPHABET.get(remainder).copied().map_or('0', char::from);
        value /= 62;
    }
    text.into_iter().collect()
}

/// Adds accounts with the largest limits, each with one key; the keys.
pub fn add_accounts(store: &Path, count: u64) -> anyhow::Result<Vec<String>> {
    let mut connection = Connection::open(store)?;
    let transaction = connection.transaction()?;
    let mut keys = Vec::new();
    for number in 1..=count {
        let key = key(number);
        transaction
            .prepare_cached(
                "INSERT INTO accounts (name, plan, per_minute, per_day, created_at)
                 VALUES (?1, 'enterprise', 4294967295, 4294967295, '2026-01-01T00:00:00.000Z')",
            )?
            .execute([format!("account {number}")])?;
        transaction
            .prepare_cached(
                "INSERT INTO keys (id, account, environment, digest, issued_at)
                 VALUES (?1, ?2, 'production', ?3, 1767225600000)",
            )?
            .execute(params![
                format!("key_bench{number}"),
                transaction.last_insert_rowid(),
                Sha256::digest(key.as_bytes()).as_slice(),
            ])?;
        keys.push(key);
    }
    transaction.execute("UPDATE versions SET keys = keys + 1", [])?;
    transaction.commit()?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_published_form() {
        let key = key(61);
        assert_eq!(key.len(), 45);
        assert!(key.starts_with("sto_live_00000000000000000000000000000z"), "{key}");
        // CRC-32 of "123456789" is 0xCBF43926 = 3421780262.
        let digits = base62(u128::from(crc32fast::hash(b"123456789")), 6);
        let value = digits.bytes().fold(0_u64, |value, digit| {
            value * 62 + ALPHABET.iter().position(|letter| *letter == digit).unwrap() as u64
        });
        assert_eq!(value, 0xCBF4_3926);
    }
}
