//! What `migrate` does, through a connection of its own: the other commands refuse a
//! database that it has not brought up to date.

use super::PostgresCommands;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{PostgresError, engine, read, written};
use crate::store::postgres::heartbeats::keep_servers_away_from_now_on;
use crate::store::postgres::limits::location::{
    describe, record, recorded, refuse_another, require_own,
};
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::grants::{self, Rights};
use crate::store::postgres::schema::{self, LIMITS, STORE, Schema};
use crate::store::{OperatorStore, StoreError};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Creates the store and the request counts, or brings their tables up to date. Returns a line
/// for each thing that was done.
pub fn migrate(url: &PostgresUrl) -> Result<Vec<String>, StoreError> {
    let store = PostgresCommands::open(url)?;
    store.ask(async |client| schema::lock(client).await)?;
    store.ask(async |client| refuse_another(client, url).await)?;
    // First, so that nothing is done if it may not.
    let mut done = create_limits_database(&store, url)?;
    done.extend(apply_missing(&store, STORE)?);
    store.ask(async |client| record(client, url).await)?;
    let separate = store.open_separate_limits(url)?;
    done.extend(apply_missing(separate.as_ref().unwrap_or(&store), LIMITS)?);
    Ok(done)
}

/// Has requests counted where this URL says from now on, in windows that start afresh. No server
/// may use the store meanwhile. Returns a line for each thing that was done.
pub fn move_counts(url: &PostgresUrl) -> Result<Vec<String>, StoreError> {
    let store = PostgresCommands::connect(url)?;
    store.ask(async |client| schema::lock(client).await)?;
    let (place, database) = (describe(url.limits_database()), url.limits_database());
    let before = store.ask(async |client| recorded(client).await)?;
    if before.is_some_and(|before| before.as_deref() == database) {
        return Ok(vec![format!("requests are counted in {place} already; nothing to do")]);
    }
    store.ask(async |client| keep_servers_away_from_now_on(client).await)?;
    let mut done = create_limits_database(&store, url)?;
    let (id, separate) = (store.id()?, store.open_separate_limits(url)?);
    let limits = separate.as_ref().unwrap_or(&store);
    done.extend(apply_missing(limits, LIMITS)?);
    limits.ask(async |client| {
        require_own(client, url, &id).await?;
        // What was counted there before the counts were moved away.
        let empty = "TRUNCATE limits_accounts";
        client.execute(empty, &[]).await.map_err(written).map(drop)
    })?;
    store.ask(async |client| record(client, url).await)?;
    done.push(format!("requests are counted in {place}; windows and bans start afresh"));
    Ok(done)
}

fn apply_missing(
    commands: &PostgresCommands,
    schema: Schema<'_>,
) -> Result<Vec<String>, StoreError> {
    let client = &mut commands.connection.lock().client;
    commands.runtime.block_on(schema::migrate(client, schema))
}

/// Creates the database of the request counts, if they have one of their own and it is missing.
fn create_limits_database(
    store: &PostgresCommands,
    url: &PostgresUrl,
) -> Result<Vec<String>, StoreError> {
    let Some(database) = url.limits_database() else { return Ok(Vec::new()) };
    let created = store.ask(async |client| create_database(client, database).await)?;
    Ok(created.into_iter().collect())
}

/// Creates this database if it is missing. The name in the answer is quoted.
async fn create_database(client: &Client, database: &str) -> Result<Option<String>, StoreError> {
    let query = "SELECT quote_ident($1::text), quote_ident(current_user),
                        EXISTS (SELECT FROM pg_database WHERE datname = $1::text)";
    let row = client.query_one(query, &[&database]).await.map_err(read)?;
    let (quoted, role): (String, String) = (value(&row, 0)?, value(&row, 1)?);
    let exists: bool = value(&row, 2)?;
    if exists {
        return Ok(None);
    }
    let create = format!("CREATE DATABASE {quoted} TEMPLATE template0 ENCODING 'UTF8'");
    client.batch_execute(&create).await.map_err(|error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => StoreError::Refused(format!(
            "the database says: {}; fix: as a role that may, createdb --encoding UTF8 --template \
             template0 --owner {role} {quoted}, then migrate again",
            PostgresError::from(error)
        )),
        _ => engine("migrated")(error),
    })?;
    Ok(Some(format!("created the database {quoted}")))
}

/// The statements that let this role serve the store and count requests, for psql. Nothing is
/// changed.
pub fn print_grants(url: &PostgresUrl, role: &str) -> Result<String, StoreError> {
    let store = PostgresCommands::open(url)?;
    store.ask(async |client| refuse_another(client, url).await)?;
    let separate = store.open_separate_limits(url)?;
    let grants = |commands: &PostgresCommands, rights| {
        commands.ask(async |client| grants::grants(client, role, rights).await)
    };
    let connect = url.limits_database().map(|name| format!("\\connect \"{name}\"\n"));
    Ok(grants(&store, Rights::Store)?
        + &connect.unwrap_or_default()
        + &grants(separate.as_ref().unwrap_or(&store), Rights::Limits)?)
}
