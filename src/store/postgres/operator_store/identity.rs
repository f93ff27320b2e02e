//! Gives the store a new id after point-in-time recovery, so that no server switches between the
//! original and the recovered store. A switch would be wrong, because the two stores may give
//! different accounts or keys the same id.

use super::PostgresOperatorStore;
use super::lock_store;
use crate::store::StoreError;
use crate::store::postgres::error::write_error;
use crate::store::postgres::rows::value;
use crate::store::rules::{ID_GAP, IDS};
use tokio_postgres::Transaction;

/// Gives a restored store a new id, and returns the id. Fails if a server uses the store.
///
/// The ids of new accounts and keys begin [`ID_GAP`] above the last id, because the original store
/// may have issued the ids in between.
pub fn begin_new_store(commands: &PostgresOperatorStore) -> Result<String, StoreError> {
    let id = format!("{:032x}", rand::random::<u128>());
    let renew = || {
        commands.write(async |transaction| {
            lock_store(transaction).await?;
            set_store_id(transaction, &id).await?;
            for (table, column) in IDS {
                let query = format!(
                    "SELECT greatest(coalesce(max(\"{column}\"), 0),
                                 nextval(pg_get_serial_sequence('{table}', '{column}')))
                 FROM {table}"
                );
                let row = transaction.query_one(&query, &[]).await.map_err(write_error)?;
                let highest: i64 = value(&row, 0)?;
                set_last_id(transaction, table, column, highest.saturating_add(ID_GAP)).await?;
            }
            Ok(())
        })
    };
    commands.with_new_id(renew)?;
    Ok(id)
}

pub async fn set_store_id(transaction: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE identity SET store_id = $1";
    transaction.execute(update, &[&id]).await.map_err(write_error)?;
    Ok(())
}

/// Sets the last used id of a table; the next row gets the following id.
pub async fn set_last_id(
    transaction: &Transaction<'_>,
    table: &str,
    column: &str,
    last: i64,
) -> Result<(), StoreError> {
    let set = "SELECT setval(pg_get_serial_sequence($1, $2), $3)";
    transaction.execute(set, &[&table, &column, &last]).await.map_err(write_error)?;
    Ok(())
}
