//! After point-in-time recovery the store gets a new id, so that stale logs and counts are not
//! mistaken for its own.

use super::PostgresCommands;
use super::take_store;
use crate::store::StoreError;
use crate::store::postgres::error::written;
use crate::store::postgres::rows::value;
use crate::store::rules::{ID_GAP, IDS};
use tokio_postgres::Transaction;

/// Gives the store another id, and accounts and keys ids that it has not used. No server may
/// serve it meanwhile. Returns the new id.
pub fn begin_new_store(commands: &PostgresCommands) -> Result<String, StoreError> {
    let id = format!("{:032x}", rand::random::<u128>());
    let renew = || {
        commands.write(async |transaction| {
            take_store(transaction).await?;
            set_store_id(transaction, &id).await?;
            for (table, column) in IDS {
                let query = format!(
                    "SELECT greatest(coalesce(max(\"{column}\"), 0),
                                 nextval(pg_get_serial_sequence('{table}', '{column}')))
                 FROM {table}"
                );
                let row = transaction.query_one(&query, &[]).await.map_err(written)?;
                let highest: i64 = value(&row, 0)?;
                set_last_id(transaction, table, column, highest.saturating_add(ID_GAP)).await?;
            }
            Ok(())
        })
    };
    commands.with_new_id(renew)?;
    Ok(id)
}

/// Gives the store this id.
pub async fn set_store_id(transaction: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE identity SET store_id = $1";
    transaction.execute(update, &[&id]).await.map_err(written)?;
    Ok(())
}

/// The next row of this table has the id after this one.
pub async fn set_last_id(
    transaction: &Transaction<'_>,
    table: &str,
    column: &str,
    last: i64,
) -> Result<(), StoreError> {
    let set = "SELECT setval(pg_get_serial_sequence($1, $2), $3)";
    transaction.execute(set, &[&table, &column, &last]).await.map_err(written)?;
    Ok(())
}
