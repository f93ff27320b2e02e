//! Ties a database of request counts to one store, because another store may use the same id for a
//! different account.

use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{read_error, write_error};
use crate::store::postgres::schema::{LIMITS, require_current};
use tokio_postgres::Client;

/// Fails if the database has no tables that this program can use, or has the counts of another
/// store. If the counts do not belong to a store yet, assigns them to this store.
pub async fn require_own_counts(
    client: &Client,
    url: &PostgresUrl,
    store_id: &str,
) -> Result<(), StoreError> {
    require_current(client, LIMITS).await?;
    let query = "SELECT store_id FROM limits_schema";
    let owner = async || client.query_one(query, &[]).await.and_then(|row| row.try_get(0));
    let mut owner_id: Option<String> = owner().await.map_err(read_error)?;
    if owner_id.is_none() {
        let claim = "UPDATE limits_schema SET store_id = $1 WHERE store_id IS NULL";
        client.execute(claim, &[&store_id]).await.map_err(write_error)?;
        owner_id = owner().await.map_err(read_error)?;
    }
    if owner_id.as_deref() == Some(store_id) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the database {:?} has the request counts of another store; fix: if that store is gone, \
         drop the database and run `store-orders migrate`; otherwise name another \
         --limits-database, and run `store-orders migrate` with it",
        url.limits_database()
    )))
}

/// Assigns the counts of the store `before` to the store `id`. Changes nothing if the counts belong
/// to a different store.
pub async fn follow_store(client: &Client, before: &str, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE limits_schema SET store_id = $2 WHERE store_id = $1";
    client.execute(update, &[&before, &id]).await.map_err(write_error).map(drop)
}
