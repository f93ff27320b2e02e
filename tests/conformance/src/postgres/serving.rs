//! What a running server asks beside the locks and the networks of others.

use super::database::PostgresUnderTest;
use super::importing::on_another_thread;
use crate::engine::Engine;
use crate::listing::{beginning, keys};
use crate::records::{NOW_MS, import, now};
use anyhow::{Context, ensure};
use std::time::Duration;
use store_orders::keys::Environment;
use store_orders::store::postgres::connect;
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
        let connection = connect(&database.url().parse()?, "a test", limit).await?;
        anyhow::Ok(connection.client.query_one(settings, &[]).await?.try_get(0)?)
    })?;
    // As the socket of the server has them.
    ensure!(found == "10 5 4 30000", "{found}");
    Ok(())
}
