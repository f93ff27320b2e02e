//! Where requests are counted. The store records it, so that no server counts elsewhere, and a
//! database of the counts alone records its store.

use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{read, written};
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::{LIMITS, require_current, table_exists};
use tokio_postgres::Client;

/// What the store records, if `migrate` has written it: the database of the counts, or `None` for
/// the store's own.
pub async fn recorded(client: &Client) -> Result<Option<Option<String>>, StoreError> {
    if !table_exists(client, "limits_location").await? {
        return Ok(None);
    }
    let query = "SELECT database FROM limits_location";
    let row = client.query_opt(query, &[]).await.map_err(read)?;
    row.map(|row| value(&row, 0)).transpose()
}

/// Has the store record the database of the counts that this URL names.
pub async fn record(client: &Client, url: &PostgresUrl) -> Result<(), StoreError> {
    let upsert = "INSERT INTO limits_location (database) VALUES ($1)
                  ON CONFLICT (only_row) DO UPDATE SET database = excluded.database";
    client.execute(upsert, &[&url.limits_database()]).await.map_err(written).map(drop)
}

/// Refuses a URL that names another database than the store records, if it records one.
pub async fn refuse_another(client: &Client, url: &PostgresUrl) -> Result<(), StoreError> {
    let recorded = recorded(client).await?;
    recorded.map_or(Ok(()), |database| require(database.as_deref(), url.limits_database()))
}

/// Refuses a URL that names another database than the store records, and a store that records
/// none.
pub async fn require_recorded(client: &Client, url: &PostgresUrl) -> Result<(), StoreError> {
    let database = recorded(client).await?.ok_or_else(|| {
        StoreError::Refused(
            "the store does not record where requests are counted; fix: `store-orders migrate` \
             with the --limits-database that all servers on this store have"
                .to_string(),
        )
    })?;
    require(database.as_deref(), url.limits_database())
}

fn require(recorded: Option<&str>, given: Option<&str>) -> Result<(), StoreError> {
    if recorded == given {
        return Ok(());
    }
    let place = describe(recorded);
    let given = given.map_or("is not set".to_string(), |name| format!("is {name:?}"));
    let fix = recorded.map_or("unset it".to_string(), |name| format!("set it to {name:?}"));
    Err(StoreError::Refused(format!(
        "the store records that requests are counted in {place}, and --limits-database {given}; \
         fix: {fix}, or stop all servers and move the counts with `store-orders migrate \
         --move-counts`"
    )))
}

/// The place of the counts in a message.
pub fn describe(limits_database: Option<&str>) -> String {
    limits_database.map_or("its own database".to_string(), |name| format!("the database {name:?}"))
}

/// Refuses counts, in the database of this connection, whose tables do not fit or are another
/// store's: its ids of accounts and keys mean others. Counts of no store become this one's.
pub async fn require_own(
    client: &Client,
    url: &PostgresUrl,
    store_id: &str,
) -> Result<(), StoreError> {
    require_current(client, LIMITS).await?;
    let Some(database) = url.limits_database() else { return Ok(()) };
    let claim = "UPDATE limits_schema SET store_id = $1 WHERE store_id IS NULL";
    let found = "SELECT store_id FROM limits_schema";
    let owner = async || client.query_one(found, &[]).await.and_then(|row| row.try_get(0));
    let mut owner_id: Option<String> = owner().await.map_err(read)?;
    if owner_id.is_none() {
        client.execute(claim, &[&store_id]).await.map_err(written)?;
        owner_id = owner().await.map_err(read)?;
    }
    if owner_id.as_deref() == Some(store_id) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the database {database:?} has the request counts of another store; fix: if that store is \
         gone, drop the database and run `store-orders migrate`; otherwise name another \
         --limits-database and run `store-orders migrate --move-counts`"
    )))
}
