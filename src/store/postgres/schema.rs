//! Migrates the schema, and checks that this program may use a database.

pub(super) mod grants;

use super::error::{PostgresError, engine_error, lock_error, read_error};
use crate::store::StoreError;
use semver::Version;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient, Row};

/// The step from one version of a schema to the next, applied in its own transaction.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub what: &'static str,
    pub sql: &'static str,
    /// The version of the oldest program that may use the database after this step. Older running
    /// servers become unready.
    pub oldest_program: &'static str,
}

/// Tables that are migrated together.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// The name that messages use for these tables.
    pub name: &'static str,
    pub version_table: &'static str,
    /// The migration at index n upgrades the tables from version n to version n + 1.
    pub migrations: &'a [Migration],
}

/// The version of the first release. A lower version in the column `oldest_program` marks a
/// database of an earlier build, whose schema is different.
const FIRST_RELEASE: Version = Version::new(2, 0, 0);

pub const STORE: Schema<'static> = Schema {
    name: "schema",
    version_table: "store_orders_schema",
    migrations: &[Migration {
        what: "the tables of orders, pets, accounts and keys",
        sql: include_str!("schema/version_1.sql"),
        oldest_program: "2.0.0",
    }],
};

/// The schema of the request counts, which are in a database of their own.
pub const LIMITS: Schema<'static> = Schema {
    name: "limits schema",
    version_table: "limits_schema",
    migrations: &[Migration {
        what: "the tables of the request counts",
        sql: include_str!("rate_limiter/schema_1.sql"),
        oldest_program: "2.0.0",
    }],
};

/// The advisory lock that `migrate` and `restore` take, so that only one of these commands runs on
/// a database at a time. The number is "stor" in ASCII, then 1.
pub const SCHEMA_LOCK: i64 = 0x7374_6f72_0000_0001;

/// The advisory lock with which a command keeps servers away from the store. A server takes the
/// lock in shared mode while it adds itself to `replicas`. The number is "stor" in ASCII, then 3.
pub const SERVERS_LOCK: i64 = 0x7374_6f72_0000_0003;

#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedVersion {
    version: usize,
    oldest_program: String,
}

fn this_program() -> Version {
    parse_program(env!("CARGO_PKG_VERSION")).unwrap_or_else(|_| Version::new(0, 0, 0))
}

/// Takes [`SCHEMA_LOCK`]. If the caller does not release the lock, PostgreSQL releases it when the
/// connection ends.
pub async fn lock(client: &Client) -> Result<(), StoreError> {
    let lock = "SELECT pg_advisory_lock($1)";
    client.execute(lock, &[&SCHEMA_LOCK]).await.map_err(lock_error).map(drop)
}

/// Applies the missing migrations. Returns a line of text for each, for the operator.
pub async fn migrate(client: &mut Client, schema: Schema<'_>) -> Result<Vec<String>, StoreError> {
    lock(client).await?;
    let migrated = apply_missing(client, schema).await;
    let unlock = client.execute("SELECT pg_advisory_unlock($1)", &[&SCHEMA_LOCK]).await;
    let steps = migrated?;
    unlock.map_err(engine_error("migrated"))?;
    Ok(steps)
}

async fn apply_missing(client: &mut Client, schema: Schema<'_>) -> Result<Vec<String>, StoreError> {
    let Schema { name, version_table, migrations } = schema;
    let current = match read_version(client, schema).await? {
        Some(recorded) if recorded.version > migrations.len() => {
            return Err(newer_schema_error(&recorded, schema));
        }
        Some(recorded) => recorded.version,
        None => {
            require_usable(client).await?;
            0
        }
    };
    let mut steps = Vec::new();
    for (migration, version) in migrations.iter().zip(1..).skip(current) {
        apply(client, version_table, migration, version).await?;
        steps.push(format!("{name} {version}: {}", migration.what));
    }
    Ok(steps)
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
        _ => engine_error("migrated")(error),
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

/// Fails if the database has no store, an older schema, or a schema that requires a newer program.
/// Accepts a newer schema that allows this program.
pub async fn require_current(
    client: &impl GenericClient,
    schema: Schema<'_>,
) -> Result<(), StoreError> {
    let (Schema { name, version_table, migrations }, program) = (schema, this_program());
    let Some(recorded) = read_version(client, schema).await? else {
        return Err(unusable(if version_table == STORE.version_table {
            "the database has no store; `store-orders migrate` creates one, and \
             `store-orders restore` fills it from a backup"
        } else {
            "the database of the request counts has no tables; fix: `store-orders migrate`, with the \
             --limits-database that all servers on this store have"
        }));
    };
    if recorded.version < migrations.len() {
        return Err(unusable(format!(
            "the database has {name} {}, and this program needs {}; fix: `store-orders migrate`",
            recorded.version,
            migrations.len()
        )));
    }
    // Refuse an unparsable `oldest_program`, because only a newer program can have written it.
    match parse_program(&recorded.oldest_program) {
        Ok(oldest) if oldest <= program => Ok(()),
        _ => Err(unusable(format!(
            "the database has {name} {}, which needs store-orders {} or newer; this is \
             {program}",
            recorded.version, recorded.oldest_program
        ))),
    }
}

/// Reads the recorded version of the schema. Returns `None` if the database does not have the
/// schema's tables yet. Fails if a build before 2.0.0 created the tables.
async fn read_version(
    client: &impl GenericClient,
    Schema { name, version_table, .. }: Schema<'_>,
) -> Result<Option<RecordedVersion>, StoreError> {
    if !table_exists(client, version_table).await? {
        return Ok(None);
    }
    let query = format!("SELECT version, oldest_program FROM {version_table}");
    let row = client.query_opt(&query, &[]).await.map_err(read_error)?;
    let recorded = |row: Row| {
        let version = usize::try_from(row.try_get::<_, i32>(0)?).unwrap_or(0);
        Ok(RecordedVersion { version, oldest_program: row.try_get(1)? })
    };
    let recorded = row.map(recorded).transpose().map_err(read_error)?;
    let is_earlier = |one: &RecordedVersion| {
        parse_program(&one.oldest_program).is_ok_and(|oldest| oldest < FIRST_RELEASE)
    };
    match recorded {
        Some(recorded) if is_earlier(&recorded) => {
            Err(StoreError::earlier_build(format_args!("the {name} of the database")))
        }
        recorded => Ok(recorded),
    }
}

/// Returns true if the first usable schema of the search path has this table.
pub async fn table_exists(client: &impl GenericClient, table: &str) -> Result<bool, StoreError> {
    let exists = "SELECT to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL";
    let exists = client.query_one(exists, &[&table]).await;
    exists.and_then(|row| row.try_get(0)).map_err(read_error)
}

/// Fails if the database is unfit for this program's tables, in these cases:
///
/// - No schema of the search path exists, or the role lacks the right to use any of them.
/// - The first usable schema has a table or a view that belongs to no extension. The caller found
///   no tables of this program, so another program must have created it.
/// - The encoding of the database is not UTF-8.
async fn require_usable(client: &impl GenericClient) -> Result<(), StoreError> {
    let row = client
        .query_one(
            "SELECT current_schema()::text, current_database()::text,
                    current_setting('server_encoding'),
                    (SELECT relname::text FROM pg_class c
                     WHERE relnamespace = (SELECT oid FROM pg_namespace
                                           WHERE nspname = current_schema())
                       AND relkind IN ('r', 'p', 'v', 'm', 'f')
                       AND NOT EXISTS (SELECT FROM pg_depend
                                       WHERE objid = c.oid AND deptype = 'e')
                     ORDER BY relname LIMIT 1)",
            &[],
        )
        .await
        .map_err(read_error)?;
    let text = |column: usize| row.try_get::<_, Option<String>>(column).map_err(read_error);
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

fn newer_schema_error(
    recorded: &RecordedVersion,
    Schema { name, migrations, .. }: Schema<'_>,
) -> StoreError {
    unusable(format!(
        "the database has {name} {}, and this program knows up to {}; use a newer store-orders \
         to migrate it",
        recorded.version,
        migrations.len()
    ))
}

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}

fn unusable(why: impl Into<String>) -> StoreError {
    StoreError::Unusable(why.into())
}
