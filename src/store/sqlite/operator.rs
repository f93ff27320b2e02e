//! What the operator's commands ask of the store, beside a running server or
//! without one. Each writes in one transaction or not at all.

mod accounts;
mod keys;
mod orders;
mod pets;

pub use accounts::Account;
pub use keys::{IssuedKey, KeyRecord, LONGEST_OVERLAP, NewKey, Rotation};
pub use orders::{ImportOutcome, NewOrder, StoredOrder};

use super::{SqliteStore, lock, writing};
use crate::store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Carries out `work` in one transaction that waits its turn with other
/// processes; an error of it leaves nothing behind.
fn in_transaction<T>(
    store: &SqliteStore,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    in_transaction_of(&mut lock(&store.writer), work)
}

/// The same, of the connection that writes.
fn in_transaction_of<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(writing)?;
    let result = work(&transaction)?;
    transaction.commit().map_err(writing)?;
    Ok(result)
}

/// Raises the version of accounts and keys: servers read them anew.
fn raise_keys_version(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE versions SET keys = keys + 1", []).map_err(writing)?;
    Ok(())
}
