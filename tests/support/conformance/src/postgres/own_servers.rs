//! Cases that start their own PostgreSQL servers, for example because a host must fail.

use super::database::{Database, PostgresUnderTest};
use crate::engine::Engine;
use crate::listing::{last_changes, list};
use crate::records::{cancel, cancellation, import};
use crate::threads::join;
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};
use store_orders::log::ErrorChain;
use store_orders::store::postgres::{PostgresOperatorStore, SILENT_FOR};
use store_orders::store::{CancelOutcome, Cancellation, Standbys};
use tempfile::TempDir;
use testbed::postgres::{Cluster, Installed, Pair, Postgres, USER};
use testbed::relay::{Fault, Relay};
use testbed::{DataDir, Program, Signal, WAIT_TIMEOUT, wait_blocking};
use tokio::runtime::{self, Runtime};

/// The maximum time until a server is ready if the first host in the store's URL is suspended. The
/// server waits half a second before it tries the second host.
const START_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum time that a store's servers may take to stop using a host after it became read-only.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// If PostgreSQL does not reply for this time, a server closes its session.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The transaction id at which a case restarts PostgreSQL. At this id, 36 million ids remain.
/// PostgreSQL warns of the wraparound if fewer than 40 million ids remain.
///
/// `set_next_transaction` requires the first id of a segment of pg_xact, which is a multiple of
/// 1,048,576.
const NEXT_ID: u32 = 2_014 * 1_048_576;

pub struct OwnServers {
    runtime: Runtime,
    pub cluster: Cluster,
}

impl OwnServers {
    pub fn new() -> anyhow::Result<OwnServers> {
        let mut runtime = runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        Ok(OwnServers { runtime, cluster: Cluster::create(&Installed::find()?)? })
    }

    pub fn wait<T>(&self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        self.runtime.block_on(work)
    }

    /// Cancels a commit's wait for the standby. Retries until a commit on the connection `role`,
    /// such as `writer`, is waiting.
    fn end_wait_for_standby(&self, primary: &Postgres, role: &str) -> anyhow::Result<()> {
        let admin = self.wait(primary.admin("postgres"))?;
        let end = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'store-orders ' || $1 AND wait_event = 'SyncRep'";
        wait_blocking("a commit waits for the standby", WAIT_TIMEOUT, || {
            let ended = self.wait(async { Ok(admin.query(end, &[&role]).await?.len()) });
            ended.ok().filter(|count| *count == 1).map(drop)
        })?;
        Ok(())
    }
}

/// Returns the PostgreSQL servers at these local ports. Connections try them in this order.
pub fn servers_at(ports: &[u16]) -> PostgresUnderTest {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    PostgresUnderTest::new(&hosts.join(","), USER)
}

/// Creates the data directory of a server process whose store is in `database`. Dropping the
/// `TempDir` deletes the directory.
pub fn data_on(database: &Database<'_>) -> anyhow::Result<(DataDir, TempDir)> {
    let directory = tempfile::tempdir()?;
    let data = DataDir::on_store(&Program::built()?, directory.path(), &database.url());
    Ok((data, directory))
}

pub fn a_server_starts_while_the_first_host_is_suspended(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port, standby.port]);
    let database = server.new_store()?;
    primary.signal_all(Signal::STOP)?;
    servers.wait(standby.promote())?;
    wait_blocking("a server started and ready", START_TIMEOUT, || {
        database.server_of_owner().ok()?.require_ready().ok()
    })
}

pub fn servers_and_commands_leave_a_host_that_was_fenced_as_read_only(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port, standby.port]);
    let database = server.new_store()?;
    import(&*database.commands()?, 1..=10)?;
    let running = database.server_of_owner()?;
    servers.wait(standby.promote())?;
    // The standby was promoted, so let the old primary commit without a standby.
    servers.wait(primary.set("synchronous_standby_names", ""))?;
    let fenced = Instant::now();
    servers.wait(primary.set("default_transaction_read_only", "on"))?;
    import(&*database.commands()?, 11..=12)?;
    let new = database.server_of_owner()?;
    for store in [running, new] {
        let remaining_time = || FAILOVER_TIMEOUT.saturating_sub(fenced.elapsed());
        wait_blocking("the list comes from the other host", remaining_time(), || {
            list(&store).ok().filter(|orders| orders.len() == 12)
        })?;
        wait_blocking("it is ready", remaining_time(), || store.require_ready().ok())?;
    }
    // With only the fenced primary configured, the error must say that the host is read-only.
    let alone = database.url().replace(&format!(",127.0.0.1:{}", standby.port), "");
    let refused = PostgresOperatorStore::connect(&alone.parse()?).err().context("not refused")?;
    let message = format!("{:#}", anyhow::Error::new(refused));
    ensure!(message.contains("read-only") && !message.contains("standby"), "{message}");
    Ok(())
}

/// If a commit stops waiting for the standby, other sessions see the commit, although a failover
/// would lose it. So a server must not show an order as cancelled until the standby has the
/// cancellation.
pub fn an_order_is_shown_as_cancelled_once_the_standby_has_it(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    import(&*database.commands()?, 1..=2)?;
    let (store, cancels) = (database.server_of_owner()?, database.server_of_owner()?);
    ensure!(cancel(&cancels, &[1])? == [CancelOutcome::Cancelled]);
    ensure!(store.cancelled_order(1)?.is_some() && cancels.cancelled_order(1)?.is_some());
    standby.signal_all(Signal::STOP)?;
    let request = Cancellation { deadline: Instant::now() + FAILOVER_TIMEOUT, ..cancellation(2) };
    std::thread::scope(|scope| {
        let cancelling = scope.spawn(|| cancels.cancel(&[request]));
        servers.end_wait_for_standby(&primary, "writer")?;
        let is_visible = "SELECT status = 'cancelled' FROM orders WHERE id = 2";
        wait_blocking("the commit is visible", WAIT_TIMEOUT, || {
            database.value::<bool>(is_visible, &[]).ok()?.then_some(())
        })?;
        let shown = store.cancelled_order(2);
        let is_acknowledged = cancelling.is_finished();
        standby.signal_all(Signal::CONT)?;
        ensure!(!is_acknowledged, "it was acknowledged before the standby had it");
        ensure!(shown.is_err(), "it was shown before the standby had it: {shown:?}");
        wait_blocking("it is shown", WAIT_TIMEOUT, || store.cancelled_order(2).ok()?.map(drop))?;
        ensure!(
            join(cancelling)?.is_ok_and(|batch| batch.outcomes == [Ok(CancelOutcome::Cancelled)])
        );
        Ok(())
    })
}

pub fn a_list_with_confirm_lists_waits_for_the_standby(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    import(&*database.commands()?, [1])?;
    let store = database.server_that_confirms_lists()?;
    let before = last_changes(&store)?;
    ensure!(last_changes(&store)? == before);
    standby.signal_all(Signal::STOP)?;
    std::thread::scope(|scope| {
        let listing = scope.spawn(|| last_changes(&store));
        let ended = servers.end_wait_for_standby(&primary, "freshness");
        let result = join(listing)?;
        standby.signal_all(Signal::CONT)?;
        ended?;
        ensure!(
            result.is_err(),
            "a list reflects changes that no standby has confirmed: {result:?}"
        );
        wait_blocking("a list", WAIT_TIMEOUT, || last_changes(&store).ok())?;
        Ok(())
    })
}

/// While a commit waits for the standby, PostgreSQL keeps the connection even if the client closes
/// it. So a server must detect an absent standby before a session's first commit. Otherwise, each
/// attempt to open a session would leave a connection.
pub fn sessions_that_a_suspended_standby_refuses_leave_no_connection(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    let running = database.server_of_owner()?;
    let waiting = || -> anyhow::Result<i64> {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        database.value(query, &[])
    };
    standby.signal_all(Signal::STOP)?;
    let is_refused = || -> anyhow::Result<bool> {
        let error = database.server_of_owner()?.require_ready().err().context("it is ready")?;
        Ok(ErrorChain(&error).to_string().contains("confirm no commit: standby"))
    };
    wait_blocking("the standby is named", WAIT_TIMEOUT, || is_refused().ok()?.then_some(()))?;
    let expected = Standbys { required: 1, confirming: 0 };
    wait_blocking("the running server reports the standby", WAIT_TIMEOUT, || {
        (running.standbys() == expected).then_some(())
    })?;
    let before = waiting()?;
    for _ in 0..3 {
        ensure!(is_refused()?, "another reason");
    }
    ensure!(waiting()? == before, "{} connections wait, {before} before", waiting()?);
    standby.signal_all(Signal::CONT)?;
    wait_blocking("the server is ready", WAIT_TIMEOUT, || running.require_ready().ok())
}

pub fn a_server_warns_if_not_every_standby_must_confirm(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let Pair { primary, standby: _standby, link: _link } = servers.wait(servers.cluster.pair())?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    let (data, _directory) = data_on(&database)?;
    for (names, warns) in [("ANY 1 (standby, other)", true), ("standby", false)] {
        servers.wait(primary.set("synchronous_standby_names", names))?;
        let server = data.serve(&[])?;
        server.signal(Signal::TERM)?;
        let (_, log) = server.wait()?;
        let is_warned = log.contains("not every synchronous standby confirms commits");
        ensure!(is_warned == warns, "{names}: {log}");
    }
    Ok(())
}

/// A server sends a lookup without waiting for replies to earlier lookups, because a round trip may
/// take long.
pub fn pets_are_looked_up_in_one_round_trip(_: &PostgresUnderTest) -> anyhow::Result<()> {
    const PETS: i64 = 4;
    let servers = OwnServers::new()?;
    let primary = servers.wait(servers.cluster.primary("primary", &[]))?;
    let server = servers_at(&[primary.port]);
    let database = server.new_store()?;
    database.execute(
        "CREATE SEQUENCE asked; ALTER TABLE pets RENAME TO kept_pets;
         CREATE VIEW pets AS SELECT 1::bigint AS id, 'Rex' AS name FROM nextval('asked')",
    )?;
    let network = servers.wait(async { Relay::to(primary.port) })?;
    let [direct, relayed] = [primary.port, network.port].map(|port| format!(":{port}/"));
    let url = database.url().replace(&direct, &relayed).parse()?;
    let store = database.server_at(url, SILENT_FOR)?;
    // Repeat the attempt, because lookups fail if the store loses its session on a slow disk.
    wait_blocking("all lookups are sent without an answer", WAIT_TIMEOUT, || {
        store.pet(1).ok()?;
        database.execute("ALTER SEQUENCE asked RESTART").ok()?;
        let asked = || {
            let asked = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM asked";
            database.value::<i64>(asked, &[]).ok().filter(|asked| *asked == PETS)
        };
        std::thread::scope(|scope| {
            network.set(Fault::NoAnswers);
            for _ in 0..PETS {
                scope.spawn(|| store.pet(1));
            }
            let asked = wait_blocking("a moment without answers", READ_TIMEOUT, asked);
            network.set(Fault::None);
            asked.ok()
        })
    })?;
    Ok(())
}

/// Near the wraparound of transaction ids, PostgreSQL sends a warning with each transaction that
/// gets an id. Sessions must ignore these warnings.
pub fn near_the_wraparound_of_transaction_ids_servers_and_commands_work(
    _: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let settings = [("wal_level", "logical")];
    let primary = servers.wait(servers.cluster.primary("primary", &settings))?;
    // The test needs PostgreSQL's warnings about the wraparound. Vacuum would end the warnings by
    // freezing rows of the catalogs. The replication slot prevents this freezing.
    let slot = "SELECT pg_create_logical_replication_slot('old', 'pgoutput')";
    servers.wait(async { Ok(primary.admin("postgres").await?.batch_execute(slot).await?) })?;
    let port = primary.port;
    primary.stop()?;
    servers.cluster.set_next_transaction("primary", NEXT_ID)?;
    let _primary = servers.wait(servers.cluster.start_at("primary", port, &settings))?;

    let server = servers_at(&[port]);
    let database = server.new_store()?;
    import(&*database.commands()?, 1..=3)?;
    let stores = [database.server_store()?, database.server_store()?];
    for (id, store) in (1..).zip(&stores) {
        ensure!(cancel(store, &[id])? == [CancelOutcome::Cancelled], "order {id}");
    }
    for store in &stores {
        ensure!(list(store)?.len() == 1);
        store.require_ready()?;
    }
    let remaining =
        "SELECT 2147483647 - age(datfrozenxid) FROM pg_database WHERE datname = 'postgres'";
    let remaining: i32 = database.value(remaining, &[])?;
    ensure!(remaining < 40_000_000, "{remaining} transactions are left: no warnings");
    Ok(())
}

/// A line of the audit log appears in PostgreSQL's log exactly once and verbatim, even with quotes
/// and dollar signs.
pub fn the_log_of_postgresql_is_the_audit_log(_: &PostgresUnderTest) -> anyhow::Result<()> {
    let servers = OwnServers::new()?;
    let primary = servers.wait(servers.cluster.primary("primary", &[]))?;
    let server = servers_at(&[primary.port]);
    let line = r#"{"command":"orders cancel","reason":"it's $$ 100 %"}"#;
    let database = server.new_store()?;
    database.commands()?.append_to_audit_log(line)?;
    // The store already has the newest schema, so this command must not add a line to the audit
    // log.
    data_on(&database)?.0.run(&["migrate"])?;
    let log = std::fs::read_to_string(servers.cluster.path().join("primary.log"))?;
    let logged = log.matches(&format!("audit of store-orders: {line}\n")).count();
    ensure!(logged == 1, "{log}");
    ensure!(log.matches("LOG:  audit of store-orders: ").count() == 1, "{log}");
    Ok(())
}
