//! What `migrate` does, through a connection of its own: the other commands refuse a
//! database that it has not brought up to date.

use super::PostgresCommands;
use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{PostgresError, engine, read};
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::grants::{self, Rights};
use crate::store::postgres::schema::{self, LIMITS, STORE, Schema};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Creates the store and the request counts, or brings their tables up to date. Returns a line
/// for each thing that was done.
pub fn migrate(url: &PostgresUrl) -> Result<Vec<String>, StoreError> {
    let store = PostgresCommands::open(url)?;
    store.ask(async |client| schema::lock(client).await)?;
    // First, so that nothing is done if it may not.
    let created =
        store.ask(async |client| create_database(client, &url.limits_database()).await)?;
    let mut done: Vec<String> = created.into_iter().collect();
    done.extend(apply_missing(&store, STORE)?);
    done.extend(apply_missing(&store.open_limits()?, LIMITS)?);
    Ok(done)
}

fn apply_missing(
    commands: &PostgresCommands,
    schema: Schema<'_>,
) -> Result<Vec<String>, StoreError> {
    let client = &mut commands.connection.lock().client;
    commands.runtime.block_on(schema::migrate(client, schema))
}

/// Creates this database if it is missing. The name in the answer is quoted.
async fn create_database(client: &Client, database: &str) -> Result<Option<String>, StoreError> {
    let query = "SELECT quote_ident($1::text), quote_ident(current_user),
                        EXISTS (SELECT FROM pg_database WHERE datname = $1::name)";
    let row = client.query_one(query, &[&database]).await.map_err(read)?;
    let (quoted, role): (String, String) = (value(&row, 0)?, value(&row, 1)?);
    let exists: bool = value(&row, 2)?;
    if exists {
        return Ok(None);
    }
    let create = format!("CREATE DATABASE {quoted} TEMPLATE template0 ENCODING 'UTF8'");
    client.batch_execute(&create).await.map_err(|error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => StoreError::Refused(format!(
            "the request counts need a database of their own, and the role {role} may not create \
             {quoted}: {}; fix: as a superuser, {create} OWNER {role}, or name one that exists with \
             --limits-database; then migrate again",
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
    let limits = store.open_limits()?;
    let grants = |commands: &PostgresCommands, rights| {
        commands.ask(async |client| grants::grants(client, role, rights).await)
    };
    let connect = format!("\\connect \"{}\"\n", url.limits_database());
    Ok(grants(&store, Rights::Store)? + &connect + &grants(&limits, Rights::Limits)?)
}
