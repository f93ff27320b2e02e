//! Checks that the handbook's console sessions with PostgreSQL show the commands' real output.

use super::database::PostgresUnderTest;
use super::own_servers::OwnServers;
use anyhow::{Context, anyhow, ensure};
use std::process::Command;
use store_orders::store::postgres::schema::{Migration, STORE, Schema, migrate};
use testbed::postgres::{Cluster, DATABASE, Postgres, USER};
use testbed::relay::{Fault, Relay};
use testbed::{
    CliSandbox, Console, DataDir, Program, ServerProcess, WAIT_TIMEOUT, consoles, free_address,
    wait_blocking,
};

const RUNBOOK: &str = "src/handbook/runbook.md";
const REPLICAS: &str = "src/handbook/replicas.md";
const READY: &str = "readyz: ready";

/// The server and the PostgreSQL cluster of the handbook's example. The primary is on the host
/// `db1`, and the standby `s1` is on `db2`.
///
/// [`Site::start`] also returns the two PostgreSQL servers. Drop them before the `Site`, because
/// dropping the `Site` deletes their directories.
struct Site {
    server: ServerProcess,
    admin: String,
    ports: [u16; 2],
    /// A relay to `db1`. The server connects through it only if `is_relayed` was true in
    /// [`Site::start`].
    network: Relay,
    data: DataDir,
    sandbox: CliSandbox,
    servers: OwnServers,
}

impl Site {
    /// Starts the databases and the server, and waits until the server is ready. If `is_relayed` is
    /// true, the server connects to `db1` through the relay `network`.
    fn start(is_relayed: bool) -> anyhow::Result<(Site, Postgres, Postgres)> {
        let (servers, sandbox, program) =
            (OwnServers::new()?, CliSandbox::new(), Program::built()?);
        let primary = servers.wait(servers.cluster.primary("primary", &[]))?;
        servers.cluster.copy("template", "standby")?;
        std::fs::write(servers.cluster.path().join("standby/standby.signal"), "")?;
        let ports = [primary.port, free_address()?.port()];
        let standby = start_standby(&servers, ports)?;
        servers.wait(primary.set("synchronous_standby_names", "s1"))?;
        servers.wait(primary.wait_for_standby())?;
        let on_store = |ports| DataDir::on_store(&program, &sandbox.path("server"), &url(ports));
        let data = on_store(ports);
        data.run(&["migrate"])?;
        let network = servers.wait(async { Relay::to(primary.port) })?;
        let first = if is_relayed { network.port } else { primary.port };
        let server = on_store([first, standby.port]).serve(&["--admin-listen", "127.0.0.1:0"])?;
        let admin = server.printed_after("admin listener on http://");
        let admin = admin.context("no admin listener")?.to_string();
        let site = Site { server, admin, ports, network, data, sandbox, servers };
        site.wait_for_health(READY)?;
        Ok((site, primary, standby))
    }

    fn wait_for_health(&self, words: &str) -> anyhow::Result<()> {
        wait_blocking(words, WAIT_TIMEOUT, || {
            let output = self.sandbox.run(&["health", "--admin-listen", &self.admin]);
            (output.stdout + &output.stderr).contains(words).then_some(())
        })
    }

    fn wait_for_metric(&self, sample: &str) -> anyhow::Result<()> {
        let url = format!("http://{}/metrics", self.admin);
        wait_blocking(sample, WAIT_TIMEOUT, || {
            let output = Command::new("curl").args(["--silent", &url]).output().ok()?;
            let metrics = String::from_utf8(output.stdout).ok()?;
            metrics.lines().any(|line| line == sample).then_some(())
        })
    }

    /// Runs `setup`, then the console commands in `text`, which is a part of the page. Compares the
    /// output with the page. Names on the page, such as `db1`, stand for the real addresses.
    fn console(&self, page: &str, text: &str, setup: &str) -> anyhow::Result<()> {
        let [db1, db2] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let (store, admin, [port, _]) = (url(self.ports), &self.admin, self.ports);
        let setup = format!(
            "export STORE_ORDERS_STORE={store} STORE_ORDERS_ADMIN_LISTEN={admin}\n\
             export PGUSER={USER} PGPORT={port}\n{setup}"
        );
        let real = [
            ("db1,db2", format!("{db1},{db2}")),
            ("db1:5432", db1),
            ("db2:5432", db2),
            ("--host db1", "--host 127.0.0.1".to_string()),
            ("127.0.0.1:8080", self.server.address()?.to_string()),
            ("127.0.0.1:8081", self.admin.clone()),
            ("schema 2", format!("schema {}", STORE.migrations.len() + 1)),
            ("2.0.0", env!("CARGO_PKG_VERSION").to_string()),
        ];
        self.sandbox.console(&Console { page, text, setup: &setup, real: &real });
        Ok(())
    }
}

fn url([first, second]: [u16; 2]) -> String {
    format!("postgres://{USER}@127.0.0.1:{first},127.0.0.1:{second}/{DATABASE}")
}

fn start_standby(servers: &OwnServers, ports: [u16; 2]) -> anyhow::Result<Postgres> {
    let upstream = Cluster::upstream(ports[0]).replace("=standby", "=s1");
    servers.wait(servers.cluster.start_at("standby", ports[1], &[("primary_conninfo", &upstream)]))
}

fn sessions<const COUNT: usize>(page: &str, heading: &str) -> anyhow::Result<[String; COUNT]> {
    let sessions = consoles(page, heading).try_into();
    sessions.map_err(|sessions: Vec<String>| {
        anyhow!("{page}: {heading} has {} sessions", sessions.len())
    })
}

pub fn the_runbook_shows_databases_that_are_away(_: &PostgresUnderTest) -> anyhow::Result<()> {
    let [standby_away, name_removed, standby_back] = sessions(RUNBOOK, "StoreOrdersStandbyAway")?;
    let [not_required, name_back, required] = sessions(RUNBOOK, "StoreOrdersStandbyNotRequired")?;
    let [unreachable, reached] = sessions(RUNBOOK, "StoreOrdersStoreUnreachable")?;
    let (site, primary, standby) = Site::start(false)?;
    // Wait for lines, because a line may appear in the log up to 100 ms after its event.
    let wait_for_line = |line: &str| {
        let logged = || site.server.log().contains(line).then_some(());
        wait_blocking(&format!("{line} is in the log"), WAIT_TIMEOUT, logged)
    };
    let [db1, db2] = site.ports.map(|port| format!("127.0.0.1:{port}: Connection refused"));
    standby.stop()?;
    site.wait_for_health(&format!("away: s1; {db2}"))?;
    site.wait_for_metric("store_orders_unready{reason=\"standby_away\"} 1")?;
    site.console(RUNBOOK, &standby_away, "")?;
    site.console(RUNBOOK, &name_removed, "")?;
    site.wait_for_health(READY)?;
    wait_for_line("\"msg\":\"no synchronous standby confirms commits\"")?;
    site.console(RUNBOOK, &not_required, "")?;
    let standby = start_standby(&site.servers, site.ports)?;
    site.servers.wait(primary.wait_for_stream("state = 'streaming'"))?;
    site.console(RUNBOOK, &name_back, "")?;
    wait_for_line("\"msg\":\"every synchronous standby confirms commits\"")?;
    site.console(RUNBOOK, &required, "")?;
    site.wait_for_metric("store_orders_standbys_confirming 1")?;
    site.console(RUNBOOK, &standby_back, "")?;
    standby.stop()?;
    site.wait_for_metric("store_orders_unready{reason=\"standby_away\"} 1")?;
    primary.stop()?;
    site.wait_for_health(&format!("reached: {db1} (os error 111); {db2}"))?;
    site.console(RUNBOOK, &unreachable, "")?;
    let _primary =
        site.servers.wait(site.servers.cluster.start_at("primary", site.ports[0], &[]))?;
    let _standby = start_standby(&site.servers, site.ports)?;
    site.wait_for_health(READY)?;
    wait_for_line("store reached again")?;
    site.console(RUNBOOK, &reached, "")
}

pub fn the_runbook_shows_a_list_that_is_behind(_: &PostgresUnderTest) -> anyhow::Result<()> {
    let [behind] = sessions(RUNBOOK, "StoreOrdersListBehind")?;
    let (site, _primary, _standby) = Site::start(true)?;
    let key = site.data.issue_key("acme", "business")?.text;
    site.data.import_pending(1..=1)?;
    wait_blocking("the server's list is current", WAIT_TIMEOUT, || {
        site.data.run(&["status"]).ok()?.contains("list is current").then_some(())
    })?;
    site.network.set(Fault::Silent);
    site.data.import_pending(2..=2)?;
    let request = format!(
        "until grep -q 'key cannot be checked' server.log; do curl --silent --output /dev/null \
         --header 'Authorization: Bearer {key}' {}/store/orders; done",
        site.server.base_url()
    );
    site.console(RUNBOOK, &behind, &request)
}

pub fn the_handbook_shows_a_server_that_is_too_old(_: &PostgresUnderTest) -> anyhow::Result<()> {
    const PAGE: &str = "src/handbook/upgrading.md";
    const NEWER: Migration =
        Migration { what: "a newer program", sql: "SELECT 1", oldest_program: "9.0.0" };
    let [refused] = sessions(PAGE, "Several servers, in PostgreSQL")?;
    let (site, primary, _standby) = Site::start(false)?;
    site.servers.wait(async {
        let schema = Schema { migrations: &[STORE.migrations, &[NEWER]].concat(), ..STORE };
        Ok(migrate(&mut primary.admin(DATABASE).await?, schema).await?)
    })?;
    site.wait_for_health("9.0.0")?;
    site.console(PAGE, &refused, "")
}

/// The server runs as the role `replica`. The commands run as the role `owner`, which has more
/// rights.
pub fn the_handbook_creates_a_store_and_its_roles(_: &PostgresUnderTest) -> anyhow::Result<()> {
    let [roles, store, status] = sessions(REPLICAS, "From scratch to three replicas")?;
    let (servers, sandbox, program) = (OwnServers::new()?, CliSandbox::new(), Program::built()?);
    servers.cluster.copy("template", "primary")?;
    let primary = servers.wait(servers.cluster.start("primary", &[]))?;
    let hosts = format!("127.0.0.1:{},{}", primary.port, free_address()?);
    let url = |role: &str| format!("postgres://{role}@{hosts}/{DATABASE}");
    let setup = format!(
        "export PGHOST=127.0.0.1 PGPORT={} PGUSER={USER} STORE_ORDERS_STORE={}",
        primary.port,
        url("owner")
    );
    let console = |text: &str, server: &str| {
        let real = [
            ("db1,db2", hosts.clone()),
            ("127.0.0.1:8080", server.to_string()),
            ("2.0.0", env!("CARGO_PKG_VERSION").to_string()),
        ];
        sandbox.console(&Console { page: REPLICAS, text, setup: &setup, real: &real });
    };
    console(&roles, "no server");
    console(&store, "no server");
    let data = |role| DataDir::on_store(&program, &sandbox.path(role), &url(role));
    let server = data("replica").serve(&[])?;
    let address = server.address()?.to_string();
    wait_blocking("the server's row has its address", WAIT_TIMEOUT, || {
        data("owner").run(&["status"]).ok()?.contains(&address).then_some(())
    })?;
    console(&status, &address);
    Ok(())
}

pub fn the_handbook_moves_a_store_from_sqlite(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let [moved] = sessions(REPLICAS, "From SQLite to PostgreSQL")?;
    let (sandbox, database) = (CliSandbox::new(), server.empty_database("")?);
    let data = DataDir::at(&Program::built()?, &sandbox.path("data"));
    data.import_pending(1..=2)?;
    let key = data.issue_key("acme", "pro")?;
    let real = [
        ("/var/lib/store-orders", data.path().display().to_string()),
        ("postgres://owner@db1,db2/orders", database.url()),
        ("orders_limits", database.url_counting_in(None)?.limits_database()),
    ];
    let setup = "systemctl() { :; }";
    sandbox.console(&Console { page: REPLICAS, text: &moved, setup, real: &real });
    let server_data =
        DataDir::on_store(&Program::built()?, &sandbox.path("server"), &database.url());
    let printed = server_data.run_with_input(&["keys", "find", "-"], key.text.as_bytes())?;
    ensure!(printed.contains(&key.id), "{printed}");
    Ok(())
}
