//! Restores a backup of the embedded store into PostgreSQL, and restores PostgreSQL's own backup
//! while servers run.

use super::database::{LOCK_CHANGES, PostgresUnderTest};
use crate::ServedStore;
use crate::engine::Engine;
use crate::listing::{accounts, keys, last_changes, list, stored_lines};
use crate::records::{NOW_MS, cancel, import, new_key, now, refusal, shipped};
use crate::threads::join;
use anyhow::ensure;
use rusqlite::Connection;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store_orders::api_key::Environment;
use store_orders::log::ErrorChain;
use store_orders::rate_limiter::{KeyBan, NewBan};
use store_orders::store::postgres::{begin_new_store, restore};
use store_orders::store::sqlite::{SqliteStore, back_up};
use store_orders::store::{
    AccountCommands, KeyCommands, NewKey, OperatorStore, Order, Records, Rotation,
};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use tempfile::TempDir;
use testbed::postgres::Installed;
use testbed::{WAIT_TIMEOUT, wait_blocking};

/// A restore and `begin_new_store` skip this many ids above the highest account id and the highest
/// key id.
const ID_GAP: i64 = 1_000_000;

/// Creates an embedded store with rows of every kind.
fn embedded(directory: &Path) -> anyhow::Result<SqliteStore> {
    let embedded = SqliteStore::open(directory)?;
    let (commands, store): (&dyn OperatorStore, _) = (&embedded, ServedStore::embedded(&embedded)?);
    import(commands, [i64::MIN, 1, 2, 3, i64::MAX])?;
    let ship_date = Some("2026-12-24T09:30:00Z".parse()?);
    let dated = Order { ship_date, complete: true, ..shipped(9) };
    commands.import(Records::Orders(&[dated]), false)?;
    cancel(&store, &[2, i64::MAX])?;
    commands.import(Records::Pets(&[Pet { id: -1, name: "Zoë".to_string() }]), false)?;
    commands.create_account("acme", Plan::Free, None, now())?;
    let limits = PlanLimits { per_minute: u32::MAX, per_day: 7 };
    commands.create_account("globex", Plan::Enterprise, Some(limits), now())?;
    let issue = |account, environment, expires_after| {
        let label = Some("web shop");
        commands.issue_key(&NewKey { account, environment, expires_after, label }, NOW_MS)
    };
    let first = issue("acme", Environment::Production, Some(Duration::from_secs(60)))?;
    let second = issue("globex", Environment::Staging, None)?;
    let rotation = Rotation { key_id: &first.id, overlap: Duration::from_secs(30), label: None };
    commands.rotate_key(rotation, NOW_MS)?;
    commands.revoke_key(&second.id, NOW_MS + 1)?;
    let ban = KeyBan { ends_at_ms: NOW_MS + 300_000, seconds: 300, number: 1 };
    store.record_bans(&[NewBan { key: 1, ban }])?;
    store.record_last_used(&[(1, NOW_MS + 3)])?;
    commands.close_account("globex", now())?;
    Ok(embedded)
}

fn backup() -> anyhow::Result<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    embedded(directory.path())?;
    let file = directory.path().join("backup.sqlite");
    back_up(directory.path(), &file, &|_, _| (), &|| false)?;
    Ok((directory, file))
}

pub fn a_backup_of_the_embedded_store_is_restored_whole(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (directory, file) = backup()?;
    let old = SqliteStore::open(directory.path())?;
    let database = server.new_store()?;
    let (new, before) = (database.commands_of_owner()?, database.commands()?.id()?);
    let report = restore(&file, &new, &|_, _| ())?;
    ensure!(
        report.problems.is_empty() && report.orders.is_some_and(|orders| orders.cancelled == 2),
        "{report:?}"
    );

    ensure!(new.id()? != OperatorStore::id(&old)? && new.id()? != before);
    ensure!(stored_lines(&new)? == stored_lines(&old)?);
    ensure!(new.accounts(NOW_MS)? == old.accounts(NOW_MS)?);
    ensure!(new.key_records()? == old.key_records()?);
    let (served, old) = (database.server_of_owner()?, ServedStore::embedded(&old)?);
    ensure!(list(&served)? == list(&old)? && served.pet(-1)?.is_some());
    let digests = |store: &ServedStore| -> anyhow::Result<HashSet<[u8; 32]>> {
        Ok(keys(store)?.into_keys().map(|digest| digest.0).collect())
    };
    ensure!(digests(&served)? == digests(&old)? && digests(&old)?.len() == 3);
    ensure!(accounts(&served)? == accounts(&old)? && accounts(&old)?.len() == 2);

    let refused = refusal(import(&new, [2]))?;
    ensure!(refused.contains("order 2 is already in the store"), "{refused}");
    new.create_account("next", Plan::Free, None, now())?;
    ensure!(new.account("next", NOW_MS)?.0.id == 2 + ID_GAP + 1);
    new.issue_key(&new_key("next"), NOW_MS)?;
    let rows: Vec<_> = new.key_records()?.iter().map(|record| record.key.row).collect();
    ensure!(rows == [1, 2, 3, 3 + ID_GAP + 1], "{rows:?}");
    Ok(())
}

fn columns(store: &Connection, table: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut names = store.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = names.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

pub fn the_tables_have_the_columns_of_the_embedded_store(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (_directory, file) = backup()?;
    let (embedded, database) = (Connection::open(file)?, server.new_store()?);
    for (table, own) in
        [("orders", &["cancelled_in"] as &[_]), ("pets", &[]), ("accounts", &[]), ("keys", &[])]
    {
        let query = "SELECT column_name::text FROM information_schema.columns
                     WHERE table_schema = current_schema() AND table_name = $1";
        let rows = database.with(async |client| Ok(client.query(query, &[&table]).await?))?;
        let mut found: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        let expected = columns(&embedded, table)?;
        own.iter().for_each(|own: &&str| _ = found.remove(*own));
        ensure!(found == expected, "{table}: PostgreSQL {found:?}, SQLite {expected:?}");
    }
    Ok(())
}

pub fn a_restore_copies_every_column_or_fails(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let (_directory, file) = backup()?;
    Connection::open(&file)?.execute_batch(
        "ALTER TABLE orders ADD COLUMN added TEXT; UPDATE orders SET added = 'fragile' WHERE id = 9;
         ALTER TABLE keys ADD COLUMN added TEXT; UPDATE keys SET added = 'shared' WHERE \"row\" = 1",
    )?;
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let refused = refusal(restore(&file, &commands, &|_, _| ()))?;
    ensure!(refused.contains("column \"added\" does not exist"), "{refused}");
    database.execute(
        "ALTER TABLE orders ADD COLUMN added text; ALTER TABLE keys ADD COLUMN added text",
    )?;
    restore(&file, &commands, &|_, _| ())?;
    let query =
        "SELECT (SELECT added FROM orders WHERE id = 9), (SELECT added FROM keys WHERE row = 1)";
    let row = database.with(async |client| Ok(client.query_one(query, &[]).await?))?;
    let added: [Option<String>; 2] = [row.get(0), row.get(1)];
    ensure!(added == [Some("fragile".to_string()), Some("shared".to_string())], "{added:?}");
    Ok(())
}

pub fn other_files_and_non_empty_stores_are_refused_without_changes(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (directory, file) = backup()?;
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let id = commands.id()?;
    let text = directory.path().join("text");
    std::fs::write(&text, "no store")?;
    let refused = refusal(restore(&text, &commands, &|_, _| ()))?;
    ensure!(refused.contains("is not a store of Store Orders"), "{refused}");
    commands.create_account("acme", Plan::Free, None, now())?;
    let refused = refusal(restore(&file, &commands, &|_, _| ()))?;
    ensure!(refused.contains("the store is not empty"), "{refused}");
    ensure!(commands.id()? == id && commands.accounts(NOW_MS)?.len() == 1);
    ensure!(stored_lines(&commands)?.is_empty());
    Ok(())
}

pub fn a_database_that_a_server_uses_is_not_restored(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (_directory, file) = backup()?;
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let store = database.server_of_owner()?;
    // Make the server's row look old. After a failover, a row looks old if the new primary's clock
    // is ahead of the old primary's clock.
    database.execute("UPDATE replicas SET heard_at = now() - interval '120 s'")?;
    let refused = refusal(restore(&file, &commands, &|_, _| ()))?;
    ensure!(refused.contains("uses the database; stop all servers"), "{refused}");
    store.deregister(Duration::from_secs(5))?;
    // Add the row of a killed server. Its last heartbeat is in the future, as if the clock of an
    // earlier primary was fast.
    database.add_server("now() + interval '120 s'")?;
    restore(&file, &commands, &|_, _| ())?;
    // A server must be able to start, so the restore must assign the request counts to the store's
    // new id.
    database.server_of_owner().map(drop)
}

pub fn a_server_that_starts_during_a_restore_waits_with_the_reason(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (_directory, file) = backup()?;
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let (store, refused) = std::thread::scope(|scope| {
        let (store, refused, restoring) = database.before_commit(LOCK_CHANGES, || {
            let restoring = scope.spawn(|| restore(&file, &commands, &|_, _| ()));
            database.wait_for_lock()?;
            let store = database.server_of_owner()?;
            let refused = store.require_ready().err().map(|error| ErrorChain(&error).to_string());
            Ok((store, refused, restoring))
        })?;
        join(restoring)??;
        anyhow::Ok((store, refused))
    })?;
    let refused = refused.unwrap_or_default();
    ensure!(refused.contains("`store-orders restore`"), "{refused:?}");
    wait_blocking("the server is ready", WAIT_TIMEOUT, || store.require_ready().ok())?;
    ensure!(commands.replicas()?.len() == 1);
    Ok(())
}

pub fn a_server_that_starts_before_a_backup_is_written_stops_the_restore(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (_directory, file) = backup()?;
    let database = server.new_store()?;
    let (commands, id) = (database.commands_of_owner()?, database.commands()?.id()?);
    let store = OnceCell::new();
    // A server starts while the backup is read, so the restore must be refused.
    let restored = restore(&file, &commands, &|_, _| {
        store.get_or_init(|| database.server_of_owner());
    });
    let refused = refusal(restored)?;
    ensure!(refused.contains("uses the database; stop all servers"), "{refused}");
    ensure!(commands.id()? == id && store.get().is_some_and(Result::is_ok));
    Ok(())
}

/// After the restore, the next change reuses the number of a cancellation that the restore undid.
/// The server `quiet` must nevertheless list the store's current orders.
pub fn a_server_follows_tables_that_are_restored_under_it(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let (database, directory) = (server.new_store()?, tempfile::tempdir()?);
    let (quiet, cancels) = (database.server_store()?, database.server_of_owner()?);
    import(&*database.commands()?, 1..=3)?;
    ensure!(list(&quiet)?.len() == 3);
    let (file, url) = (directory.path().join("backup"), database.url());
    let (file, url) = (file.to_string_lossy(), format!("--dbname={url}"));
    run_client("pg_dump", &[&url, "--format=custom", "--file", &file])?;
    cancel(&cancels, &[1])?;
    let lost = last_changes(&cancels)?.orders;
    run_client("pg_restore", &[&url, "--clean", "--exit-on-error", &file])?;
    database.commands()?.ship_orders(&[2])?;
    let now = wait_blocking("its list is answered", WAIT_TIMEOUT, || last_changes(&quiet).ok())?;
    ensure!(now.orders.number == lost.number && list(&quiet)?.len() == 3, "{now:?}");
    Ok(())
}

fn run_client(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Installed::find()?.client(program).args(arguments).output()?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

pub fn a_recovered_store_gets_a_new_id(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    for name in ["acme", "globex"] {
        commands.create_account(name, Plan::Free, None, now())?;
    }
    let before = (commands.id()?, commands.account("globex", NOW_MS)?.0.id);
    let id = begin_new_store(&commands)?;
    ensure!(id.len() == 32 && id != before.0 && commands.id()? == id, "{id}");
    commands.create_account("next", Plan::Free, None, now())?;
    ensure!(commands.account("globex", NOW_MS)?.0.id == before.1);
    ensure!(commands.account("next", NOW_MS)?.0.id > before.1 + ID_GAP);
    ensure!(begin_new_store(&commands)? != id);
    let _store = database.server_of_owner()?;
    let refused = refusal(begin_new_store(&commands))?;
    ensure!(refused.contains("uses the database; stop all servers"), "{refused}");
    Ok(())
}
