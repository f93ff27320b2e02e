//! All that a drill starts: servers, what they run on, the relays between them, and the
//! operator's commands.

use super::databases::Databases;
use super::server::Server;
use super::topology::Topology;
use crate::replicas::url_of;
use crate::scenario::Tools;
use anyhow::Context;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use testbed::relay::{self, Relay, Tampering};
use testbed::{DataDir, Full, Preload, SmallDisk};
use tokio::task::block_in_place;

/// The names of the servers.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// What a control damages; by default nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disabled {
    /// What relays do to what they carry.
    pub tampering: Tampering,
    /// No commit waits for the standby.
    pub synchronous_standby: bool,
    /// Changes are numbered by a sequence, and committed in another order.
    pub order_of_changes: bool,
    /// Servers reach every primary at one address, which moves.
    pub addresses: bool,
}

/// All that runs.
pub struct Site {
    /// What servers run on.
    pub topology: Topology,
    /// PostgreSQL, where servers run on it.
    pub databases: Option<Databases>,
    /// The servers.
    pub servers: Vec<Server>,
    /// The operator's commands.
    pub operator: Arc<DataDir>,
    /// The networks between them and each node of PostgreSQL.
    pub to_commands: Vec<Relay>,
    /// While the disk of an embedded store is full.
    pub full: Option<Full>,
    disk: Option<SmallDisk>,
    root: TempDir,
}

/// How often a server is started, and how long after it ended.
const STARTS: u32 = 10;
const START_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Room for an embedded store.
const DISK_KIB: u64 = 64 * 1024;

/// How far an asynchronous standby is behind.
const STANDBY_LATE: Duration = Duration::from_millis(500);

/// Numbers that are committed in another order than they are drawn, by writers that do not wait
/// for each other.
const SEQUENCE: &str = "
    CREATE SEQUENCE drawn START 1000000000000;
    CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.changed_in = nextval('drawn');
            PERFORM pg_sleep(random() * 0.02);
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION draw();
    CREATE FUNCTION draw_change() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE is_of_orders boolean = NEW.orders = NEW.version;
        BEGIN
            NEW.version = nextval('drawn');
            IF is_of_orders THEN NEW.orders = NEW.version; END IF;
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION draw_change();";

impl Site {
    /// Starts everything but the servers, with pending orders from 1 to this one.
    pub async fn start(
        tools: &Tools,
        topology: Topology,
        orders: usize,
        disabled: Disabled,
    ) -> anyhow::Result<Site> {
        let root = tempfile::Builder::new().prefix("drill-").tempdir()?;
        // The accounts of the database servers have directories below it.
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o755))?;
        let site = match topology {
            Topology::Postgres => Site::on_postgres(tools, root, disabled).await?,
            Topology::Embedded => Site::embedded(tools, root).await?,
        };
        block_in_place(|| {
            if topology == Topology::Postgres {
                site.operator.run(&["migrate"])?;
            }
            site.operator.import_pending(1..=i64::try_from(orders)?)?;
            site.operator.run_with_input(&["pets", "import", "-"], b"id,name\n1,Rex\n")
        })?;
        if disabled.order_of_changes {
            site.databases()?.execute(SEQUENCE).await?;
        }
        Ok(site)
    }

    async fn on_postgres(tools: &Tools, root: TempDir, disabled: Disabled) -> anyhow::Result<Site> {
        let is_synchronous = !disabled.synchronous_standby;
        let databases = Databases::start(&tools.postgres()?, root.path(), is_synchronous).await?;
        if disabled.synchronous_standby {
            databases.link.set(relay::Fault::Delay(STANDBY_LATE));
        }
        let program = &tools.program;
        let relays = async |ports: &[u16], tampering| {
            let mut relays = Vec::new();
            for port in ports {
                relays.push(Relay::tampering(*port, tampering)?);
            }
            let ports: Vec<u16> = relays.iter().map(|relay| relay.port).collect();
            anyhow::Ok((relays, url_of(ports)))
        };
        let nodes = databases.ports();
        let (to_commands, url) = relays(&nodes, Tampering::None).await?;
        let operator = DataDir::on_store(program, &root.path().join("operator"), &url);
        let mut servers = Vec::new();
        for name in NAMES {
            let count = if disabled.addresses { 1 } else { nodes.len() };
            let nodes = nodes.get(..count).context("there are nodes")?;
            let (to_store, url) = relays(nodes, disabled.tampering).await?;
            let directory = root.path().join(name);
            let data = DataDir::on_store(program, &directory, &url);
            let clock = Preload::wall_clock()?;
            servers.push(Server::new(name, data, &directory, clock, to_store).await?);
        }
        Ok(Site {
            topology: Topology::Postgres,
            databases: Some(databases),
            servers,
            operator: Arc::new(operator),
            to_commands,
            full: None,
            disk: None,
            root,
        })
    }

    async fn embedded(tools: &Tools, root: TempDir) -> anyhow::Result<Site> {
        let (disk, [name, ..]) = (SmallDisk::mount(DISK_KIB)?, NAMES);
        let data = || DataDir::at(&tools.program, disk.path());
        let (logs, fsync) = (root.path().join(name), Preload::disk()?);
        let server = Server::new(name, data(), &logs, fsync, Vec::new()).await?;
        Ok(Site {
            topology: Topology::Embedded,
            databases: None,
            servers: vec![server],
            operator: Arc::new(data()),
            to_commands: Vec::new(),
            full: None,
            disk: Some(disk),
            root,
        })
    }

    /// PostgreSQL.
    pub fn databases(&self) -> anyhow::Result<&Databases> {
        self.databases.as_ref().context("there is no PostgreSQL")
    }

    /// PostgreSQL, to be changed.
    pub fn databases_mut(&mut self) -> anyhow::Result<&mut Databases> {
        self.databases.as_mut().context("there is no PostgreSQL")
    }

    /// The disk of the embedded store.
    pub fn disk(&self) -> anyhow::Result<&SmallDisk> {
        self.disk.as_ref().context("there is no small disk")
    }

    /// Starts this server, again if it finds no primary in time, as a supervisor does.
    pub async fn start_server(&mut self, number: usize) -> anyhow::Result<()> {
        for _ in 1..STARTS {
            if self.server_mut(number)?.start().is_ok() {
                return Ok(());
            }
            tokio::time::sleep(START_AGAIN_AFTER).await;
        }
        self.server_mut(number)?.start()
    }

    /// The server of this number.
    pub fn server(&self, number: usize) -> anyhow::Result<&Server> {
        self.servers.get(number).context("there is no such server")
    }

    /// The server of this number, to be stopped or started.
    pub fn server_mut(&mut self, number: usize) -> anyhow::Result<&mut Server> {
        self.servers.get_mut(number).context("there is no such server")
    }

    /// Starts all servers, and waits until they are ready.
    pub async fn start_servers(&mut self) -> anyhow::Result<()> {
        for number in 0..self.servers.len() {
            self.start_server(number).await?;
        }
        for server in &self.servers {
            server.ready().await?;
        }
        Ok(())
    }

    /// Where everything is.
    pub fn root(&self) -> PathBuf {
        self.root.path().to_path_buf()
    }

    /// Leaves data and logs where they are.
    pub fn keep(&mut self) {
        self.databases.iter_mut().for_each(Databases::keep);
        self.root.disable_cleanup(true);
    }
}
