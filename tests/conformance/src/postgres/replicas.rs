//! The servers that `status` names.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::listing::list;
use crate::records::{cancel, import};
use crate::wait;
use anyhow::ensure;

pub fn a_server_is_named_with_its_program_and_address(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    ensure!(commands.replicas()?.is_empty());
    let store = database.server_of_owner()?;
    store.announce("127.0.0.1:8080".to_string());
    let found = wait::until(|| {
        let replicas = commands.replicas().ok()?;
        replicas.into_iter().find(|replica| replica.address == "127.0.0.1:8080")
    })?;
    ensure!(found.program == env!("CARGO_PKG_VERSION"), "{found:?}");
    ensure!(found.heard_seconds_ago < 30, "{found:?}");
    ensure!(found.started_at.ends_with('Z') && found.started_at.len() == 20, "{found:?}");
    let _second = database.serving()?;
    ensure!(commands.replicas()?.len() == 2);
    Ok(())
}

/// Its row tells after seconds.
pub fn the_list_of_a_server_reflects_its_own_cancellations(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let store = database.server_of_owner()?;
    import(&commands, [1, 2])?;
    list(&store)?;
    cancel(&store, &[1])?;
    cancel(&store, &[2])?;
    let newest = commands.orders_version()?;
    wait::until(|| {
        let replicas = commands.replicas().ok()?;
        replicas.iter().all(|replica| replica.list_version == newest).then_some(())
    })
}
