//! What `migrate` does, through a connection of its own: the other commands refuse a
//! database that it has not brought up to date.

use super::PostgresCommands;
use crate::store::StoreError;
use crate::store::postgres::columns::value;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{PostgresError, engine, read};
use crate::store::postgres::schema::grants::{self, Rights};
use crate::store::postgres::schema::{self, LIMITS, STORE};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Creates the store and the request counts, or brings their tables up to date. Returns a line
/// for each thing that was done.
pub fn migrate(url: &PostgresUrl) -> Result<Vec<String>, StoreError> {
    let store = PostgresCommands::open(url)?;
    let mut done = Vec::new();
    // First, so that nothing is done if it may not.
    if let Some(database) = url.limits_database() {
        done.extend(store.ask(async |client| create_database(client, database).await)?);
    }
    let migrate = |commands: &PostgresCommands, schema| {
        let client = &mut commands.connection.lock().client;
        commands.runtime.block_on(schema::migrate(client, schema))
    };
    done.extend(migrate(&store, STORE)?);
    done.extend(match url.limits_database() {
        Some(_) => migrate(&PostgresCommands::open(&url.limits())?, LIMITS)?,
        None => migrate(&store, LIMITS)?,
    });
    Ok(done)
}

/// Creates the database of the request counts if it is missing. Its name is quoted.
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
    let of = |url: &PostgresUrl, rights| {
        let commands = PostgresCommands::open(url)?;
        commands.ask(async |client| grants::grants(client, role, rights).await)
    };
    let store = of(url, Rights::Store)?;
    let connect = url.limits_database().map(|name| format!("\\connect \"{name}\"\n"));
    Ok(store + &connect.unwrap_or_default() + &of(&url.limits(), Rights::Limits)?)
}
