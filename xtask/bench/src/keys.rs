//! Keys by the hundred thousand, written to a store directly: to issue them one by one would
//! take hours.

use crate::lists::LIST;
use crate::load::{Work, request};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use store_orders::keys::{ApiKey, Environment};

/// How many keys a flood of unknown ones has.
const FLOOD: usize = 50_000;

/// A well-formed key that was never issued.
pub fn unknown() -> String {
    new().expose().to_string()
}

/// Requests for the list, each with another well-formed key that was never issued.
pub fn flood() -> Work {
    let asked = |_| request("GET", LIST, Some(&unknown()), false);
    Work::InTurn((0..FLOOD).map(asked).collect(), AtomicUsize::new(0))
}

fn new() -> ApiKey {
    ApiKey::generate(Environment::Production)
}

/// Adds accounts with the largest limits, each with one key; the keys.
pub fn add_accounts(store: &Path, count: u64) -> anyhow::Result<Vec<String>> {
    let mut connection = Connection::open(store)?;
    let transaction = connection.transaction()?;
    let mut keys = Vec::new();
    for number in 1..=count {
        let key = new();
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
                key.digest().0.as_slice(),
            ])?;
        keys.push(key.expose().to_string());
    }
    transaction.execute("UPDATE versions SET keys = keys + 1", [])?;
    transaction.commit()?;
    Ok(keys)
}
