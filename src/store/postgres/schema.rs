//! The schema's versions: what brings a database of each version to the next, and which
//! programs may use it.

pub(super) mod grants;

use super::error::{PostgresError, engine, read, waited};
use crate::store::StoreError;
use semver::Version;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient, Row};

/// One step of the schema, applied in a transaction of its own.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// What it does, for the operator.
    pub what: &'static str,
    /// Its statements.
    pub sql: &'static str,
    /// The oldest program that may use the database afterwards: servers of an older one
    /// stop being ready, those from it on are not disturbed.
    pub oldest_program: &'static str,
}

/// Tables that are migrated together.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// What messages call it.
    pub name: &'static str,
    /// The table with its version.
    pub version_table: &'static str,
    /// Each brings a database of the version of its position to the next.
    pub migrations: &'a [Migration],
}

/// The request counts, in a database of their own.
pub const LIMITS: Schema<'static> = Schema {
    name: "limits schema",
    version_table: "limits_schema",
    migrations: &[
        Migration {
            what: "the tables of the request counts",
            sql: include_str!("limits/schema_1.sql"),
            oldest_program: "1.0.0",
        },
        Migration {
            what: "accounts are counted in the order of time",
            sql: include_str!("limits/schema_2.sql"),
            oldest_program: "1.0.0",
        },
        Migration {
            what: "bans are kept with the keys",
            sql: include_str!("limits/schema_3.sql"),
            oldest_program: "1.2.0",
        },
    ],
};

/// The store.
pub const STORE: Schema<'static> =
    Schema { name: "schema", version_table: "store_orders_schema", migrations: MIGRATIONS };

/// Those of the store.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        what: "the tables of orders, pets, accounts and keys",
        sql: include_str!("schema/version_1.sql"),
        oldest_program: "1.0.0",
    },
    Migration {
        what: "accounts can be closed",
        sql: include_str!("schema/version_2.sql"),
        oldest_program: "1.0.0",
    },
    Migration {
        what: "changes have a journal",
        sql: include_str!("schema/version_3.sql"),
        oldest_program: "1.1.0",
    },
    Migration {
        what: "keys can have labels",
        sql: include_str!("schema/version_4.sql"),
        oldest_program: "1.1.0",
    },
    Migration {
        what: "accounts change apart from their keys",
        sql: include_str!("schema/version_5.sql"),
        oldest_program: "1.2.0",
    },
    Migration {
        what: "the store records where requests are counted",
        sql: include_str!("schema/version_6.sql"),
        oldest_program: "1.2.0",
    },
    Migration {
        what: "imports are stored in steps",
        sql: include_str!("schema/version_7.sql"),
        oldest_program: "1.2.0",
    },
    Migration {
        what: "keys have their bans",
        sql: include_str!("schema/version_8.sql"),
        oldest_program: "1.2.0",
    },
    Migration {
        what: "requests are counted in another database",
        sql: include_str!("schema/version_9.sql"),
        oldest_program: "1.2.0",
    },
];

/// Held by `migrate` and `restore`, of which one at a time runs on a database: "stor", 1.
pub const SCHEMA_LOCK: i64 = 0x7374_6f72_0000_0001;

/// Held by commands that no server may use the store beside, and shared by a server while it adds
/// itself to `replicas`: "stor", 3.
pub const SERVERS_LOCK: i64 = 0x7374_6f72_0000_0003;

/// The version of its schema that a database records.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    version: usize,
    oldest_program: String,
}

/// The version of this program.
fn this_program() -> Version {
    parse_program(env!("CARGO_PKG_VERSION")).unwrap_or_else(|_| Version::new(0, 0, 0))
}

/// Waits for another `migrate` or `restore`, and keeps others waiting until the connection ends.
pub async fn lock(client: &Client) -> Result<(), StoreError> {
    let lock = "SELECT pg_advisory_lock($1)";
    client.execute(lock, &[&SCHEMA_LOCK]).await.map_err(waited).map(drop)
}

/// Applies the missing migrations, and returns a line for each thing that was done.
pub async fn migrate(client: &mut Client, schema: Schema<'_>) -> Result<Vec<String>, StoreError> {
    lock(client).await?;
    let migrated = apply_missing(client, schema).await;
    let unlock = client.execute("SELECT pg_advisory_unlock($1)", &[&SCHEMA_LOCK]).await;
    let done = migrated?;
    unlock.map_err(engine("migrated"))?;
    Ok(done)
}

async fn apply_missing(client: &mut Client, schema: Schema<'_>) -> Result<Vec<String>, StoreError> {
    let Schema { name, version_table, migrations } = schema;
    let found = match found(client, version_table).await? {
        Some(found) if found.version > migrations.len() => {
            return Err(newer(&found, schema));
        }
        Some(found) => found.version,
        None => {
            require_usable(client).await?;
            0
        }
    };
    let mut done = Vec::new();
    for (migration, version) in migrations.iter().zip(1..).skip(found) {
        apply(client, version_table, migration, version).await?;
        done.push(format!("{name} {version}: {}", migration.what));
    }
    if done.is_empty() {
        done.push(format!("{name} {found} is the newest; nothing to do"));
    }
    Ok(done)
}

async fn apply(
    client: &mut Client,
    version_table: &str,
    migration: &Migration,
    version: i32,
) -> Result<(), StoreError> {
    let failed = |error: tokio_postgres::Error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let error = PostgresError::from(error);
            refused(format!(
                "the database says: {error}; fix: migrate as the owner of the tables, or GRANT \
                 USAGE, CREATE ON SCHEMA to this role first"
            ))
        }
        _ => engine("migrated")(error),
    };
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(migration.sql).await.map_err(failed)?;
    let row = format!(
        "INSERT INTO {version_table} (version, oldest_program) VALUES ($1, $2)
         ON CONFLICT (only_row) DO UPDATE
         SET version = excluded.version, oldest_program = excluded.oldest_program"
    );
    transaction.execute(&row, &[&version, &migration.oldest_program]).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Refuses a database that this program cannot use: one without a store, with an older
/// schema, or with one that asks for a newer program. A newer schema that does not is used.
pub async fn require_current(
    client: &impl GenericClient,
    schema: Schema<'_>,
) -> Result<(), StoreError> {
    let (Schema { name, version_table, migrations }, program) = (schema, this_program());
    let Some(found) = found(client, version_table).await? else {
        return Err(unusable(if version_table == STORE.version_table {
            "the database has no store; `store-orders migrate` creates one, and \
             `store-orders restore` fills it from a backup"
        } else {
            "the database of the request counts has no tables; fix: `store-orders migrate`, with the \
             --limits-database that all servers on this store have"
        }));
    };
    if found.version < migrations.len() {
        return Err(unusable(format!(
            "the database has {name} {}, and this program needs {}; fix: `store-orders migrate`",
            found.version,
            migrations.len()
        )));
    }
    // What cannot be read as a version was written by a program that is newer still.
    match parse_program(&found.oldest_program) {
        Ok(oldest) if oldest <= program => Ok(()),
        _ => Err(unusable(format!(
            "the database has {name} {}, which needs store-orders {} or newer; this is \
             {program}",
            found.version, found.oldest_program
        ))),
    }
}

/// The version that the database records; none if it does not have these tables.
async fn found(
    client: &impl GenericClient,
    version_table: &str,
) -> Result<Option<Found>, StoreError> {
    if !table_exists(client, version_table).await? {
        return Ok(None);
    }
    let query = format!("SELECT version, oldest_program FROM {version_table}");
    let row = client.query_opt(&query, &[]).await.map_err(read)?;
    let found = |row: Row| {
        let version = usize::try_from(row.try_get::<_, i32>(0)?).unwrap_or(0);
        Ok(Found { version, oldest_program: row.try_get(1)? })
    };
    row.map(found).transpose().map_err(read)
}

/// Whether the first schema of the search_path has this table.
pub async fn table_exists(client: &impl GenericClient, table: &str) -> Result<bool, StoreError> {
    let exists = "SELECT to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL";
    let exists = client.query_one(exists, &[&table]).await;
    exists.and_then(|row| row.try_get(0)).map_err(read)
}

/// Refuses a database whose tables are another program's, or whose texts are not UTF-8.
async fn require_usable(client: &impl GenericClient) -> Result<(), StoreError> {
    let row = client
        .query_one(
            "SELECT current_schema()::text, current_database()::text,
                    current_setting('server_encoding'),
                    (SELECT relname::text FROM pg_class c
                     WHERE relnamespace = (SELECT oid FROM pg_namespace
                                           WHERE nspname = current_schema())
                       AND relkind IN ('r', 'p', 'v', 'm', 'f')
                       AND to_regclass(quote_ident(current_schema()) || '.store_orders_schema')
                           IS NULL
                       AND NOT EXISTS (SELECT FROM pg_depend
                                       WHERE objid = c.oid AND deptype = 'e')
                     ORDER BY relname LIMIT 1)",
            &[],
        )
        .await
        .map_err(read)?;
    let text = |column: usize| row.try_get::<_, Option<String>>(column).map_err(read);
    let database = text(1)?.unwrap_or_default();
    let Some(schema) = text(0)? else {
        return Err(refused(format!(
            "no schema of the search_path exists in the database {database:?}, or this role may \
             not use it; fix: create it, or name another one in --store"
        )));
    };
    if text(2)?.as_deref() != Some("UTF8") {
        return Err(refused(format!(
            "the database {database:?} does not keep its texts in UTF-8; fix: createdb with \
             --encoding UTF8 --template template0"
        )));
    }
    match text(3)? {
        None => Ok(()),
        Some(table) => Err(refused(format!(
            "the schema {schema:?} of the database {database:?} has tables of another program \
             ({table:?}); name an empty database in --store, or another search_path"
        ))),
    }
}

fn parse_program(text: &str) -> Result<Version, semver::Error> {
    let Version { major, minor, patch, .. } = Version::parse(text)?;
    Ok(Version::new(major, minor, patch))
}

fn newer(found: &Found, Schema { name, migrations, .. }: Schema<'_>) -> StoreError {
    unusable(format!(
        "the database has {name} {}, and this program knows up to {}; use a newer store-orders \
         to migrate it",
        found.version,
        migrations.len()
    ))
}

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}

fn unusable(why: impl Into<String>) -> StoreError {
    StoreError::Unusable(why.into())
}
