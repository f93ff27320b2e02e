//! What a running server asks beside the locks and the networks of others.

use super::database::PostgresUnderTest;
use super::importing::on_another_thread;
use crate::engine::Engine;
use crate::listing::{beginning, keys};
use crate::records::{NOW_MS, cancel, import, now};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};
use store_orders::keys::Environment;
use store_orders::store::postgres::{COMMAND, connect, print_grants};
use store_orders::store::{NewKey, Store};
use store_orders_api::plans::Plan;

pub fn a_use_of_a_locked_key_is_left_and_the_others_are_recorded(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    commands.create_account("acme", Plan::Free, None, now())?;
    let environment = Environment::Production;
    let new = NewKey { account: "acme", environment, expires_after: None };
    for _ in 0..2 {
        commands.issue_key(&new, NOW_MS)?;
    }
    let uses = [(1, NOW_MS), (1, NOW_MS + 1), (2, NOW_MS)];
    let left = database.with(async |client| {
        let transaction = client.transaction().await?;
        transaction.batch_execute("SELECT FROM keys WHERE row = 1 FOR UPDATE").await?;
        on_another_thread(|| Ok(store.record_last_used(&uses)?))
    })?;
    ensure!(left == [(1, NOW_MS + 1)], "{left:?}");
    let used = || -> anyhow::Result<Vec<_>> {
        Ok(commands.key_records()?.iter().map(|key| key.used_at).collect())
    };
    ensure!(used()? == [None, Some(NOW_MS)]);
    ensure!(store.record_last_used(&left)?.is_empty());
    ensure!(used()? == [Some(NOW_MS + 1), Some(NOW_MS)]);
    Ok(())
}

pub fn keys_are_read_beside_a_list(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    import(&*commands, [1])?;
    let mut beside = None;
    store.for_each_order_since(beginning(&store)?, &mut |_| {
        beside = Some(on_another_thread(|| Ok(keys(&store)?.len())));
    })?;
    ensure!(beside.context("no order was listed")?? == 0);
    Ok(())
}

/// The settings of a role that would lose acknowledged cancellations, or end every session.
pub fn the_settings_of_a_role_change_no_session(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let role = database.new_role()?;
    let grants = print_grants(&database.url().parse()?, &role)?;
    database.execute(&grants)?;
    let hostile = [
        ("client_min_messages", "error"),
        ("synchronous_commit", "off"),
        ("default_transaction_isolation", "serializable"),
        ("default_transaction_deferrable", "on"),
        ("statement_timeout", "'1ms'"),
        ("lock_timeout", "'1ms'"),
        ("idle_in_transaction_session_timeout", "'1ms'"),
        ("idle_session_timeout", "'1ms'"),
        ("search_path", "public, pg_catalog"),
    ];
    for (setting, value) in hostile {
        database.execute(&format!("ALTER ROLE {role} SET {setting} = {value}"))?;
    }
    let names: Vec<&str> = hostile.iter().map(|(setting, _)| *setting).collect();
    let settings = "SELECT string_agg(current_setting(name), '|') FROM unnest($1::text[]) name";
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let found: String = runtime.block_on(async {
        let (url, limit) = (database.url_for(&role).parse()?, Duration::from_secs(5));
        let connection = connect(&url, &COMMAND, limit).await?;
        anyhow::Ok(connection.client.query_one(settings, &[&names]).await?.try_get(0)?)
    })?;
    ensure!(found == "warning|on|read committed|off|0|1min|20s|0|public", "{found}");
    let store = database.server_of(&role)?;
    import(&*database.commands()?, [1])?;
    cancel(&store, &[1])?;
    store.check_ready()?;
    store.pet(1)?;
    Ok(())
}

/// A failover can leave a database clock that is ahead of the one by which the row was written.
pub fn a_command_waits_for_a_server_whatever_the_clock_says(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands()?;
    // A server of which no heartbeat arrives here: it may hold a lease on the old primary.
    database.execute(
        "INSERT INTO replicas (id, program, address, list_version, heard_at)
         VALUES ('f00', '1.0.0', '10.0.0.1:80', 0, now() - interval '120 s')",
    )?;
    let began = Instant::now();
    commands.await_servers();
    ensure!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    Ok(())
}

pub fn either_side_of_a_connection_notices_that_the_other_is_gone(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let settings = "SELECT string_agg(current_setting(name), ' ') FROM unnest(ARRAY[
        'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count',
        'tcp_user_timeout']) name";
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let found: String = runtime.block_on(async {
        let limit = Duration::from_secs(5);
        let connection = connect(&database.url().parse()?, &COMMAND, limit).await?;
        anyhow::Ok(connection.client.query_one(settings, &[]).await?.try_get(0)?)
    })?;
    // As the socket of the server has them.
    ensure!(found == "10 5 4 30000", "{found}");
    Ok(())
}
