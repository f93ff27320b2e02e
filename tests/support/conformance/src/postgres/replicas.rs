//! Cases about the table `replicas`. Each server has a row there, which the command `status` lists.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::listing::list;
use crate::records::{cancel, import};
use anyhow::{Context, ensure};
use std::time::Duration;
use store_orders::log::ErrorChain;
use store_orders::store::OperatorStore;
use store_orders::store::postgres::ReplicaRow;
use testbed::{WAIT_TIMEOUT, wait_blocking};

/// The maximum time until a server's row contains the server's new address, or the new change
/// number of the server's list.
const ROW_TIMEOUT: Duration = Duration::from_secs(4);

pub fn a_server_is_named_with_its_program_and_address(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    ensure!(commands.replicas()?.is_empty());
    let store = database.server_of_owner()?;
    store.announce("127.0.0.1:8080".to_string());
    let replica = wait_blocking("the server has its address", WAIT_TIMEOUT, || {
        let replicas = commands.replicas().ok()?;
        replicas.into_iter().find(|replica| replica.address == "127.0.0.1:8080")
    })?;
    ensure!(replica.program == env!("CARGO_PKG_VERSION"), "{replica:?}");
    ensure!(replica.heard_seconds_ago < 30, "{replica:?}");
    ensure!(replica.started_at.ends_with('Z') && replica.started_at.len() == 20, "{replica:?}");
    let _second = database.server_store()?;
    ensure!(commands.replicas()?.len() == 2);
    Ok(())
}

pub fn a_killed_server_is_silent_and_then_removed(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    // Add a row whose last heartbeat is in the future. After a failover, such rows exist if the new
    // primary's clock is behind the old primary's clock.
    database.add_server("now() + interval '1 day'")?;
    // `silent_replicas` returns after 5 s. The server removes the row of `f00` only after 6 s.
    let store = database.server_at(database.url().parse()?, Duration::from_secs(6))?;
    ensure!(commands.replicas()?.len() == 2);
    ensure!(commands.silent_replicas()? == ["f00"]);
    let backends = database.session_backends()?;
    wait_blocking("the silent server is removed", WAIT_TIMEOUT, || {
        (commands.replicas().ok()?.len() == 1).then_some(())
    })?;
    ensure!(commands.silent_replicas()?.is_empty());
    // Wait for the next check for silent servers, because this check must not remove the running
    // server.
    std::thread::sleep(Duration::from_secs(7));
    ensure!(commands.replicas()?.len() == 1 && database.session_backends()? == backends);
    Ok(store.require_ready()?)
}

/// A row in `replicas` may belong to a killed server. Long commands must not pause for a killed
/// server, because it gets no requests.
pub fn a_killed_server_does_not_delay_commands(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    ensure!(!commands.is_served()?);
    database.add_server("now() - interval '1 minute'")?;
    ensure!(!commands.is_served()?, "the killed server counts as running");
    let _store = database.server_of_owner()?;
    ensure!(commands.is_served()?, "the running server does not count");
    Ok(())
}

pub fn a_server_whose_row_was_removed_adds_it_again(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    // Add a row that looks old, but may belong to a running server. After a failover, a row looks
    // old if the new primary's clock is ahead of the old primary's clock.
    database.add_server("now() - interval '2 days'")?;
    let store = database.server_of_owner()?;
    ensure!(commands.replicas()?.len() == 2, "a server that may hold a lease was removed");
    let before = database.session_backends()?;
    database.execute("DELETE FROM replicas")?;
    wait_blocking("the session is opened again", WAIT_TIMEOUT, || {
        (database.session_backends().ok()? != before).then_some(())
    })?;
    wait_blocking("the row has been added again", WAIT_TIMEOUT, || {
        (commands.replicas().ok()?.len() == 1).then_some(())
    })?;
    wait_blocking("the server is ready", WAIT_TIMEOUT, || store.require_ready().ok())?;
    import(&commands, [1])?;
    ensure!(!list(&store)?.is_empty());
    cancel(&store, &[1])?;
    // A server that stops removes its row, and must not add it again.
    store.deregister(Duration::from_secs(5))?;
    std::thread::sleep(Duration::from_secs(1));
    ensure!(commands.replicas()?.is_empty());
    Ok(())
}

/// Each attempt to open the first session may add the server's row. If the row stayed, commands
/// would wait for heartbeats that never arrive.
pub fn a_server_that_cannot_start_leaves_no_row(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    // A new session first adds the server's row, then reads the journal. Without a row in the
    // journal, the session fails after it has added the server's row.
    database.execute("DELETE FROM changes")?;
    let store = database.server_of_owner()?;
    let error = store.require_ready().err().context("it is ready")?;
    let error = ErrorChain(&error).to_string();
    ensure!(error.contains("the table changes, has no row"), "{error}");
    // Another attempt of the server to open a session may have added the server's row. The row
    // disappears only after that attempt has failed.
    drop(store);
    wait_blocking("no row is left", WAIT_TIMEOUT, || {
        commands.replicas().ok()?.is_empty().then_some(())
    })
}

/// `status` judges by a server's row whether the server listens and its list is current, so the row
/// must be current.
pub fn a_change_of_the_address_or_the_list_is_in_the_servers_row_within_seconds(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let store = database.server_of_owner()?;
    let wait_for_row = |address: &str| {
        let newest = commands.orders_change_number()?;
        wait_blocking("the row has the address and the newest change number", ROW_TIMEOUT, || {
            let rows = commands.replicas().ok()?;
            let is_current =
                |row: &ReplicaRow| row.address == address && row.list_change_number == newest;
            rows.iter().all(is_current).then_some(())
        })
    };
    store.announce("127.0.0.1:8080".to_string());
    wait_for_row("127.0.0.1:8080")?;
    store.announce("127.0.0.1:8081".to_string());
    wait_for_row("127.0.0.1:8081")?;
    import(&commands, [1, 2])?;
    list(&store)?;
    cancel(&store, &[1])?;
    cancel(&store, &[2])?;
    wait_for_row("127.0.0.1:8081")
}
