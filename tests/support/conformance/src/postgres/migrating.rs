//! Tests migrations, and which versions of the program may use a database.

use super::database::{Database, PostgresUnderTest};
use crate::engine::Engine;
use crate::listing::list;
use crate::records::{cancel, import, refusal};
use anyhow::ensure;
use store_orders::config::PostgresUrl;
use store_orders::store::postgres::schema::{
    LIMITS, Migration, STORE, Schema, migrate, require_current,
};
use store_orders::store::{CancelOutcome, StoreError};
use testbed::{CliSandbox, WAIT_TIMEOUT, wait_blocking};

/// A migration after which servers of this version can continue to run.
const COMPATIBLE: Migration = Migration {
    what: "a column that this program does not know",
    sql: "ALTER TABLE orders ADD COLUMN of_newer_program text DEFAULT 'none'",
    oldest_program: env!("CARGO_PKG_VERSION"),
};

/// A migration after which only a newer version can run.
const NEEDS_NEWER: Migration = Migration {
    what: "a column that only a newer program knows",
    sql: "ALTER TABLE orders ADD COLUMN other text",
    oldest_program: "99.0.0",
};

fn migrations_and(more: &[Migration]) -> Vec<Migration> {
    [STORE.migrations, more].concat()
}

fn migrate_to(database: &Database<'_>, more: &[Migration]) -> anyhow::Result<Vec<String>> {
    let schema = Schema { migrations: &migrations_and(more), ..STORE };
    database.with(async |client| Ok(migrate(client, schema).await?))
}

fn tables(database: &Database<'_>) -> anyhow::Result<Vec<String>> {
    let query = "SELECT schemaname || '.' || tablename FROM pg_tables
                 WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1";
    database.with(async |client| {
        let rows = client.query(query, &[]).await?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
    })
}

pub fn migrate_creates_the_store_once(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    for refused in [refusal(database.commands())?, refusal(database.server_store())?] {
        ensure!(refused.contains("`store-orders migrate`"), "{refused}");
    }
    let (mut output, created) = (database.migrate()?, database.url_counting_in(None)?);
    let created = format!("created the database {}", created.limits_database());
    ensure!(output.remove(0) == created, "{output:?}");
    let first = "schema 1: the tables of orders, pets, accounts and keys";
    ensure!(output.first().is_some_and(|step| step == first), "{output:?}");
    let steps = |Schema { name, migrations, .. }: Schema<'static>| {
        let versions = (1..).zip(migrations);
        versions.map(move |(version, step)| format!("{name} {version}: {}", step.what))
    };
    ensure!(output.iter().cloned().eq(steps(STORE).chain(steps(LIMITS))), "{output:?}");
    let id = database.commands()?.id()?;
    let output = database.migrate()?;
    let expected = [STORE, LIMITS].map(|Schema { name, migrations, .. }| {
        format!("{name} {} is the newest; nothing to do", migrations.len())
    });
    ensure!(output == expected, "{output:?}");
    ensure!(database.commands()?.id()? == id);
    ensure!(server.new_store()?.commands()?.id()? != id, "two stores have one id");
    Ok(())
}

pub fn a_migration_that_fails_changes_nothing(server: &PostgresUnderTest) -> anyhow::Result<()> {
    const FAILS: Migration =
        Migration { sql: "ALTER TABLE orders ADD COLUMN half text; SELECT 1 / 0", ..COMPATIBLE };
    let database = server.new_store()?;
    let refused = refusal(migrate_to(&database, &[FAILS]))?;
    ensure!(refused.contains("cannot be migrated"), "{refused}");
    ensure!(refusal(database.execute("SELECT half FROM orders"))?.contains("half"));
    import(&*database.commands()?, [1])?;
    ensure!(migrate_to(&database, &[COMPATIBLE])?.len() == 1);
    Ok(())
}

pub fn a_database_of_another_program_is_refused(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    database.execute("CREATE TABLE invoices (id int)")?;
    let refused = refusal(database.migrate())?;
    let named = refused.contains("another program") && refused.contains("\"invoices\"");
    ensure!(named && !refused.contains('\n'), "{refused}");
    ensure!(tables(&database)? == ["public.invoices"]);
    for without_store in [database, server.empty_database("")?] {
        let refused = refusal(without_store.server_of_owner())?;
        let is_clear = refused.contains("no store") && refused.contains("store-orders migrate");
        ensure!(is_clear && !refused.contains('\n'), "{refused}");
    }
    Ok(())
}

pub fn commands_and_servers_exit_with_4_without_a_store_of_a_release(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (database, sandbox) = (server.empty_database("")?, CliSandbox::new());
    let serve = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"];
    let commands = [&["status"][..], &["check"], &["orders", "list"], &["keys", "list"], &serve];
    let fix = "the database has no store; `store-orders migrate` creates one";
    let earlier = "the schema of the database was made by a build before 2.0.0; create a new store";
    let require_refusals = |expected| {
        for command in commands {
            let refused = sandbox.run(&[command, &["--store", &database.url()]].concat());
            let is_named = refused.stderr.contains(expected);
            ensure!(refused.status == 4 && is_named, "{command:?}: {refused:?}");
        }
        Ok(())
    };
    require_refusals(fix)?;
    database.migrate()?;
    database.execute("UPDATE store_orders_schema SET version = 10, oldest_program = '1.2.0'")?;
    require_refusals(earlier)?;
    let refused = refusal(database.migrate())?;
    ensure!(refused.contains(earlier), "{refused}");
    Ok(())
}

pub fn a_database_that_is_not_in_utf_8_is_refused(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server
        .empty_database("ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")?;
    let refused = refusal(database.migrate())?;
    ensure!(refused.contains("UTF-8") && refused.contains("createdb"), "{refused}");
    Ok(())
}

pub fn the_error_for_a_role_that_cannot_create_tables_names_a_fix(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let role = database.new_role()?;
    // The template database or a PostgreSQL before 15 may let every role create tables. Revoke this
    // right.
    database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")?;
    let refused =
        refusal(database.as_role(&role, async |client| Ok(migrate(client, STORE).await?)))?;
    ensure!(refused.contains("GRANT USAGE, CREATE ON SCHEMA"), "{refused}");
    ensure!(tables(&database)?.is_empty() && !refused.contains('\n'), "{refused}");
    Ok(())
}

pub fn the_error_for_a_role_that_cannot_create_databases_names_a_fix(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let role = database.new_role()?;
    database.execute(&format!("GRANT ALL ON SCHEMA public TO {role}"))?;
    let url: PostgresUrl = database.url_for(&role).parse()?;
    let default = url.limits_database();
    let named = url.clone().with_limits_database(Some("no-such".to_string()));
    for (url, name) in [(url, &*default), (named, "\"no-such\"")] {
        let refused = refusal(store_orders::store::postgres::migrate(&url))?;
        let create =
            format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' OWNER {role}");
        ensure!(refused.contains(&create) && refused.contains("--limits-database"), "{refused}");
        ensure!(tables(&database)?.is_empty() && !refused.contains('\n'), "{refused}");
    }
    // Create the database as a superuser, as the error suggests.
    let create = format!("CREATE DATABASE {default} TEMPLATE template0 OWNER {role}");
    database.execute(&create)?;
    store_orders::store::postgres::migrate(&database.url_for(&role).parse()?)?;
    database.server_of(&role)?;
    Ok(())
}

pub fn the_tables_are_created_in_the_first_schema_of_the_search_path(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    database.execute(
        "CREATE SCHEMA \"Our Shop\"; CREATE TABLE public.orders (not_ours int);
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = \"Our Shop\", public',
                                    current_database()); END $$",
    )?;
    database.migrate()?;
    let commands = database.commands()?;
    import(&*commands, [1, 2])?;
    ensure!(list(&database.server_store()?)?.len() == 2);
    let tables = tables(&database)?;
    let ours = tables.iter().filter(|table| table.starts_with("Our Shop.")).count();
    ensure!(ours == tables.len() - 1, "{tables:?}");
    Ok(())
}

pub fn an_older_schema_is_refused_with_a_hint_to_migrate(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let migrations = migrations_and(&[COMPATIBLE]);
    let schema = Schema { migrations: &migrations, ..STORE };
    let require_schema = |database: &Database<'_>| {
        database.with(async |client| Ok(require_current(client, schema).await?))
    };
    let refused = refusal(require_schema(&database))?;
    let (has, needs) = (STORE.migrations.len(), STORE.migrations.len() + 1);
    let expected = format!(
        "the database has schema {has}, and this program needs {needs}; fix: `store-orders migrate`"
    );
    ensure!(refused == expected, "{refused}");
    migrate_to(&database, &[COMPATIBLE])?;
    require_schema(&database)
}

pub fn a_compatible_migration_does_not_disturb_servers(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_store()?, database.commands()?);
    import(&*commands, [1, 2, 3])?;
    ensure!(list(&store)?.len() == 3);
    let output = migrate_to(&database, &[COMPATIBLE])?;
    let expected = format!("schema {}: {}", STORE.migrations.len() + 1, COMPATIBLE.what);
    ensure!(output == [expected], "{output:?}");
    // The first server started before the migration, the second one after it.
    for store in [store, database.server_store()?] {
        store.require_ready()?;
        ensure!(list(&store)?.len() == 3);
    }
    for (commands, id) in [(commands, 4), (database.commands()?, 5)] {
        import(&*commands, [id])?;
        ensure!(commands.order(id)?.is_some() && commands.check()?.problems.is_empty());
    }
    ensure!(cancel(&database.server_store()?, &[1])? == [CancelOutcome::Cancelled]);
    let refused = refusal(database.migrate())?;
    ensure!(refused.contains("use a newer store-orders"), "{refused}");
    Ok(())
}

pub fn a_migration_that_requires_a_newer_program_makes_servers_unready(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let store = database.server_of_owner()?;
    store.require_ready()?;
    migrate_to(&database, &[NEEDS_NEWER])?;
    let expected = "needs store-orders 99.0.0 or newer";
    for refused in [refusal(database.commands())?, refusal(database.server_store())?] {
        ensure!(refused.contains(expected), "{refused}");
    }
    let reason =
        wait_blocking("the server is not ready", WAIT_TIMEOUT, || store.require_ready().err())?;
    let StoreError::Refused(reason) = reason else { anyhow::bail!("another reason: {reason:?}") };
    ensure!(reason.contains(expected), "{reason}");
    Ok(())
}
