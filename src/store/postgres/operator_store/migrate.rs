//! Implements the command `migrate`. Unlike other commands, it also accepts a database whose schema
//! is missing or too old.

use super::PostgresOperatorStore;
use crate::store::StoreError;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::error::{PostgresError, engine_error, read_error};
use crate::store::postgres::rows::value;
use crate::store::postgres::schema::grants::{self, Rights};
use crate::store::postgres::schema::{self, LIMITS, STORE, Schema};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

#[derive(Debug)]
pub struct Migrated {
    /// A line for each step, and for each schema that needed no step.
    pub lines: Vec<String>,
    pub has_changed: bool,
}

/// Creates the tables of the store and of the request counts, or brings them up to date. Also
/// creates the database of the request counts if it is missing.
pub fn migrate(url: &PostgresUrl) -> Result<Migrated, StoreError> {
    let store = PostgresOperatorStore::open(url)?;
    store.run(async |client| schema::lock(client).await)?;
    // Create the database of the counts first. If the role lacks the right to create it, no table
    // has changed yet.
    let created =
        store.run(async |client| create_database(client, &url.limits_database()).await)?;
    let mut migrated =
        Migrated { has_changed: created.is_some(), lines: created.into_iter().collect() };
    let steps = apply_missing(&store, STORE)?;
    migrated.add(STORE, steps);
    let steps = apply_missing(&store.open_counts()?, LIMITS)?;
    migrated.add(LIMITS, steps);
    Ok(migrated)
}

impl Migrated {
    fn add(&mut self, Schema { name, migrations, .. }: Schema<'_>, steps: Vec<String>) {
        if steps.is_empty() {
            self.lines.push(format!("{name} {} is the newest; nothing to do", migrations.len()));
        }
        self.has_changed |= !steps.is_empty();
        self.lines.extend(steps);
    }
}

fn apply_missing(
    commands: &PostgresOperatorStore,
    schema: Schema<'_>,
) -> Result<Vec<String>, StoreError> {
    let client = &mut commands.connection.lock().client;
    commands.runtime.block_on(schema::migrate(client, schema))
}

/// Creates this database if it is missing. Returns a line for the operator if it was created.
async fn create_database(client: &Client, database: &str) -> Result<Option<String>, StoreError> {
    let query = "SELECT quote_ident($1::text), quote_ident(current_user),
                        EXISTS (SELECT FROM pg_database WHERE datname = $1::name)";
    let row = client.query_one(query, &[&database]).await.map_err(read_error)?;
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
        _ => engine_error("migrated")(error),
    })?;
    Ok(Some(format!("created the database {quoted}")))
}

/// Makes psql stop at a statement that fails, and exit with a status that is not 0.
const STOP_AT_ERRORS: &str = "\\set ON_ERROR_STOP on\n";

/// Returns statements for psql that allow this role to serve the store and to count requests. Does
/// not execute them.
pub fn print_grants(url: &PostgresUrl, role: &str) -> Result<String, StoreError> {
    let store = PostgresOperatorStore::open(url)?;
    let limits = store.open_counts()?;
    let grants = |commands: &PostgresOperatorStore, rights| {
        commands.run(async |client| grants::grants(client, role, rights).await)
    };
    let connect = format!("\\connect \"{}\"\n", url.limits_database());
    let (store, limits) = (grants(&store, Rights::Store)?, grants(&limits, Rights::Limits)?);
    Ok(format!("{STOP_AT_ERRORS}{store}{connect}{limits}"))
}
