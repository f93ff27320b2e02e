//! Migrations, and the program versions that may use a database.

use super::database::{Database, PostgresUnderTest};
use crate::engine::Engine;
use crate::listing::{accounts, changed_ids, keys, keys_since, last_changes, list};
use crate::records::{cancel, import, refusal};
use anyhow::{Context, ensure};
use store_orders::config::PostgresUrl;
use store_orders::store::postgres::schema::{
    MIGRATIONS, Migration, STORE, Schema, migrate, require_current,
};
use store_orders::store::{CancelOutcome, StoreError};
use store_orders_api::plans::Plan;
use testbed::{CliSandbox, WAIT_TIMEOUT, wait_blocking};

/// A migration after which servers of this program can continue to run.
const COMPATIBLE: Migration = Migration {
    what: "a column that this program does not know",
    sql: "ALTER TABLE orders ADD COLUMN note text DEFAULT 'none'",
    oldest_program: env!("CARGO_PKG_VERSION"),
};

/// A migration after which only a later program may run.
const NEEDS_NEWER: Migration = Migration {
    what: "a column that only a newer program knows",
    sql: "ALTER TABLE orders ADD COLUMN other text",
    oldest_program: "99.0.0",
};

/// The migration that completes imports of older programs.
const STEPS: &str = "imports are stored in steps";

fn migrations_and(more: &[Migration]) -> Vec<Migration> {
    [MIGRATIONS, more].concat()
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

pub fn a_store_with_an_older_schema_is_migrated(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let [first, second, ..] = MIGRATIONS else { anyhow::bail!("there are fewer") };
    let older = Schema { migrations: &[*first, *second], ..STORE };
    database.with(async |client| Ok(migrate(client, older).await?))?;
    database.execute(
        "INSERT INTO orders (id, pet_id, quantity, complete, status, version)
             VALUES (1, 7, 1, false, 'pending', 4), (2, 7, 1, false, 'shipped', 1000000005);
         INSERT INTO accounts (name, plan, created_at) VALUES ('acme', 'pro', '2026-12-24T09:30:00Z');
         INSERT INTO accounts (name, plan, created_at, closed_at)
             VALUES ('globex', 'free', '2026-12-24T09:30:00Z', '2026-12-24T09:30:00Z');
         INSERT INTO keys (id, account, environment, digest, issued_at)
             VALUES ('key_1', 1, 'production', decode(repeat('00', 32), 'hex'), 1);
         INSERT INTO keys (id, account, environment, digest, issued_at, revoked_at)
             VALUES ('key_2', 2, 'production', decode(repeat('01', 32), 'hex'), 1, 7);
         UPDATE keys_version SET version = 9",
    )?;
    // Statements that a server and a command of an older program execute.
    let writes = [
        "UPDATE orders SET status = 'cancelled', version = (SELECT max(version) + 1 FROM orders),
             cancelled_at = '2026-12-24T09:30:00Z', cancelled_by = 'key_1' WHERE id = 1",
        "UPDATE keys_version SET version = version + 1",
    ];
    for write in writes {
        database.execute(&format!("BEGIN; {write}; ROLLBACK"))?;
    }
    database.migrate()?;
    for write in writes {
        refusal(database.execute(write))?;
    }
    let (store, commands) = (database.serving()?, database.commands()?);
    ensure!(commands.check()?.problems.is_empty());
    let before = last_changes(&store)?;
    ensure!((before.orders, before.keys) == (1_000_000_005, 9), "{before:?}");
    ensure!(list(&store)?.len() == 2);
    let (accounts, keys) = (accounts(&store)?, keys(&store)?);
    let closed: Vec<_> = accounts.values().map(|account| account.is_closed).collect();
    ensure!(closed == [false, true], "{closed:?}");
    ensure!(keys.values().filter(|key| key.is_revoked).count() == 1);
    ensure!(cancel(&store, &[1])? == [CancelOutcome::Cancelled]);
    commands.revoke_key("key_1", 2)?;
    let after = last_changes(&store)?;
    ensure!((after.orders, after.keys) == (1_000_000_006, 1_000_000_007), "{after:?}");
    ensure!(changed_ids(&store, before.orders_change())? == [-1]);
    let ((accounts, keys), revoked) = keys_since(&store, before.keys_change())?;
    ensure!(accounts.is_empty() && keys.len() == 1, "{accounts:?} {keys:?}");
    commands.set_plan("acme", Plan::Free, None)?;
    let (accounts, keys) = keys_since(&store, revoked)?.0;
    ensure!(keys.is_empty() && accounts.keys().eq(&[1]), "{accounts:?}");
    Ok(())
}

/// The unfinished import has stored its orders, but lists do not show them.
pub fn an_unfinished_import_of_an_older_program_becomes_a_change(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let before = MIGRATIONS.iter().position(|one| one.what == STEPS).context("it is there")?;
    let older = Schema { migrations: MIGRATIONS.get(..before).unwrap_or_default(), ..STORE };
    database.with(async |client| Ok(migrate(client, older).await?))?;
    database.execute(
        "INSERT INTO orders (id, pet_id, quantity, complete, status, changed_in)
             SELECT n, 7, 1, false, 'pending', 1000000001 FROM generate_series(11, 13) n",
    )?;
    database.migrate()?;
    let (store, commands) = (database.serving()?, database.commands()?);
    ensure!(commands.check()?.problems.is_empty() && list(&store)?.len() == 3);
    ensure!(last_changes(&store)?.orders == 1_000_000_001);
    import(&*commands, [1])?;
    ensure!(last_changes(&store)?.orders == 1_000_000_002);
    Ok(())
}

pub fn migrate_creates_the_store_once(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    for refused in [refusal(database.commands())?, refusal(database.serving())?] {
        ensure!(refused.contains("`store-orders migrate`"), "{refused}");
    }
    let (mut output, created) = (database.migrate()?, database.url_counting_in(None)?);
    let created = format!("created the database {}", created.limits_database());
    ensure!(output.remove(0) == created, "{output:?}");
    let expected = [
        "schema 1: the tables of orders, pets, accounts and keys",
        "schema 2: accounts can be closed",
        "schema 3: changes have a journal",
        "schema 4: keys can have labels",
        "schema 5: accounts change apart from their keys",
        "schema 6: the store records where requests are counted",
        "schema 7: imports are stored in steps",
        "schema 8: keys have their bans",
        "schema 9: requests are counted in another database",
        "schema 10: pages of orders have room for changes",
        "limits schema 1: the tables of the request counts",
        "limits schema 2: accounts are counted in the order of time",
        "limits schema 3: bans are kept with the keys",
    ];
    ensure!(output == expected, "{output:?}");
    let id = database.commands()?.id()?;
    let output = database.migrate()?;
    let nothing = "is the newest; nothing to do";
    ensure!(
        output
            == [
                format!("schema {} {nothing}", MIGRATIONS.len()),
                format!("limits schema 3 {nothing}")
            ],
        "{output:?}"
    );
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

pub fn commands_and_servers_exit_with_4_without_a_store(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (database, sandbox) = (server.empty_database("")?, CliSandbox::new());
    let serve = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"];
    let commands = [&["status"][..], &["check"], &["orders", "list"], &["keys", "list"], &serve];
    let fix = "the database has no store; `store-orders migrate` creates one";
    let outdated = format!("this program needs {}; fix: `store-orders migrate`", MIGRATIONS.len());
    for expected in [fix, &outdated] {
        for command in commands {
            let refused = sandbox.run(&[command, &["--store", &database.url()]].concat());
            let is_named = refused.stderr.contains(expected);
            ensure!(refused.status == 4 && is_named, "{command:?}: {refused:?}");
        }
        let [first, ..] = MIGRATIONS else { anyhow::bail!("there is none") };
        let older = Schema { migrations: &[*first], ..STORE };
        database.with(async |client| Ok(migrate(client, older).await?))?;
    }
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
    // Revoke the right to create tables, which new databases do not grant by default since
    // PostgreSQL 15.
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
    // A superuser creates the database.
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
    ensure!(list(&database.serving()?)?.len() == 2);
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
    let (has, needs) = (MIGRATIONS.len(), MIGRATIONS.len() + 1);
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
    let (store, commands) = (database.serving()?, database.commands()?);
    import(&*commands, [1, 2, 3])?;
    ensure!(list(&store)?.len() == 3);
    let output = migrate_to(&database, &[COMPATIBLE])?;
    let expected = format!("schema {}: {}", MIGRATIONS.len() + 1, COMPATIBLE.what);
    ensure!(output == [expected], "{output:?}");
    // The first server started before the migration, the second one after it.
    for store in [store, database.serving()?] {
        store.require_ready()?;
        ensure!(list(&store)?.len() == 3);
    }
    for (commands, id) in [(commands, 4), (database.commands()?, 5)] {
        import(&*commands, [id])?;
        ensure!(commands.order(id)?.is_some() && commands.check()?.problems.is_empty());
    }
    ensure!(cancel(&database.serving()?, &[1])? == [CancelOutcome::Cancelled]);
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
    for refused in [refusal(database.commands())?, refusal(database.serving())?] {
        ensure!(refused.contains(expected), "{refused}");
    }
    let reason =
        wait_blocking("the server is not ready", WAIT_TIMEOUT, || store.require_ready().err())?;
    let StoreError::Refused(reason) = reason else { anyhow::bail!("another reason: {reason:?}") };
    ensure!(reason.contains(expected), "{reason}");
    Ok(())
}
