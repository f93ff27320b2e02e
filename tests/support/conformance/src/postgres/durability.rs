//! Tests changes of a store's synchronous standbys while a server uses the store.

use super::database::PostgresUnderTest;
use super::own_servers::{OwnServers, data_on, servers_at};
use anyhow::ensure;
use store_orders::store::Standbys;
use testbed::postgres::Pair;
use testbed::{ServerProcess, WAIT_TIMEOUT, wait_blocking};

const SETTING: &str = "synchronous_standby_names";
const NONE_CONFIRMS: &str = "no synchronous standby confirms commits";
const NOT_ALL_CONFIRM: &str = "not every synchronous standby confirms commits";
const ALL_CONFIRM: &str = "every synchronous standby confirms commits";

fn wait_for_lines(server: &ServerProcess, message: &str, count: usize) -> anyhow::Result<()> {
    let line = format!("\"msg\":\"{message}\"");
    wait_blocking(&format!("{message}: {count}"), WAIT_TIMEOUT, || {
        (server.log().matches(&line).count() == count).then_some(())
    })
}

pub fn changed_standby_settings_are_logged_and_measured_in_an_open_session(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby: _standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    let (data, _directory) = data_on(&database)?;
    let (process, store) = (data.serve(&[])?, database.server_of_owner()?);
    let backends = database.session_backends()?;
    let expect = |required, confirming| {
        wait_blocking("the measured standbys", WAIT_TIMEOUT, || {
            (store.standbys() == Standbys { required, confirming }).then_some(())
        })
    };
    expect(1, 1)?;
    servers.wait(primary.set(SETTING, ""))?;
    wait_for_lines(&process, NONE_CONFIRMS, 1)?;
    expect(0, 0)?;
    servers.wait(primary.set(SETTING, "standby"))?;
    wait_for_lines(&process, ALL_CONFIRM, 1)?;
    expect(1, 1)?;
    servers.wait(primary.set(SETTING, "ANY 1 (standby, other)"))?;
    wait_for_lines(&process, NOT_ALL_CONFIRM, 1)?;
    servers.wait(primary.set(SETTING, ""))?;
    wait_for_lines(&process, NONE_CONFIRMS, 2)?;
    ensure!(database.session_backends()? == backends, "a session was opened again");
    Ok(())
}

/// Neither primary has a synchronous standby. The server must repeat the warning `NONE_CONFIRMS`
/// after the failover, because the failover may have lost changes.
pub fn a_failover_between_primaries_without_synchronous_standbys_is_logged(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port, standby.port]);
    let database = server.new_store()?;
    servers.wait(primary.set(SETTING, ""))?;
    let (data, _directory) = data_on(&database)?;
    let process = data.serve(&[])?;
    wait_for_lines(&process, NONE_CONFIRMS, 1)?;
    primary.kill()?;
    servers.wait(standby.promote())?;
    wait_for_lines(&process, "store reached again", 1)?;
    wait_for_lines(&process, NONE_CONFIRMS, 2)
}

pub fn a_failover_to_a_primary_without_a_synchronous_standby_is_logged(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port, standby.port]);
    let database = server.new_store()?;
    let (data, _directory) = data_on(&database)?;
    let (process, store) = (data.serve(&[])?, database.server_of_owner()?);
    ensure!(!process.log().contains(NONE_CONFIRMS), "{}", process.log());
    primary.kill()?;
    servers.wait(standby.promote())?;
    wait_for_lines(&process, "store reached again", 1)?;
    wait_for_lines(&process, NONE_CONFIRMS, 1)?;
    wait_blocking("the store is ready", WAIT_TIMEOUT, || store.require_ready().ok())?;
    ensure!(store.standbys() == Standbys::default());
    Ok(())
}
