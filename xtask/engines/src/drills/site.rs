//! All that a drill starts: two nodes of PostgreSQL, two of Redis, three servers, the relays
//! between them, and the operator's commands.

use super::counters::Counters;
use super::databases::{Databases, Standby};
use super::server::{Networks, Server};
use crate::replicas::url_of;
use anyhow::Context;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::postgres::Installed;
use testbed::redis::InstalledRedis;
use testbed::relay::{self, Relay};
use testbed::{DataDir, Preload, Program};
use tokio::task::block_in_place;

/// The names of the servers.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// How long a server may take until it is ready, before the drill gives it up.
pub const GIVEN_UP_AFTER: Duration = Duration::from_secs(20);

/// What is installed, and what is tried.
pub struct Installation {
    /// PostgreSQL.
    pub postgres: Installed,
    /// Redis.
    pub redis: InstalledRedis,
    /// The server.
    pub program: Program,
}

/// What a control lacks; by default nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lacks {
    /// What relays do to what they carry.
    pub networks: Networks,
    /// Whether no commit waits for the standby.
    pub synchronous_standby: bool,
    /// Whether versions come from a sequence.
    pub sequence_of_commits: bool,
    /// Whether timelines are all the same to servers.
    pub timelines: bool,
}

/// All that runs.
pub struct Site {
    /// PostgreSQL.
    pub databases: Databases,
    /// Redis.
    pub counters: Counters,
    /// The servers.
    pub servers: Vec<Server>,
    /// The operator's commands.
    pub operator: Arc<DataDir>,
    /// The networks between them and each node of PostgreSQL.
    pub to_commands: [Relay; 2],
    /// The wall clock of each server.
    pub clocks: Vec<Preload>,
    root: TempDir,
}

/// How often a server is started, and how long after it ended.
const STARTS: u32 = 10;
const START_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// How far an asynchronous standby is behind.
const STANDBY_LATE: Duration = Duration::from_millis(500);

/// Numbers that are committed in another order than they are drawn: without a row in
/// `versions` nothing makes writers wait for each other.
const SEQUENCE: &str = "
    DELETE FROM versions;
    CREATE SEQUENCE drawn START 1000;
    CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.changed_in = nextval('drawn');
            PERFORM pg_sleep(random() * 0.02);
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION draw();";

/// A function of the same name, found before the system's, that tells every server the same.
const NO_TIMELINES: &str = "
    CREATE SCHEMA hidden;
    CREATE FUNCTION hidden.pg_walfile_name(pg_lsn) RETURNS text
        LANGUAGE sql AS 'SELECT ''000000010000000000000001''';";

/// Finds the function of [`NO_TIMELINES`].
const HIDDEN: &str = "?options=-c%20search_path%3Dhidden%2Cpublic%2Cpg_catalog";

impl Site {
    /// Starts everything but the servers, with pending orders from 1 to this one.
    pub async fn start(
        installation: &Installation,
        orders: usize,
        lacks: Lacks,
    ) -> anyhow::Result<Site> {
        let root = tempfile::Builder::new().prefix("drill-").tempdir()?;
        // The accounts of the database servers have directories below it.
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o755))?;
        let standby = match lacks.synchronous_standby {
            true => Standby::Asynchronous,
            false => Standby::Synchronous,
        };
        let databases = Databases::start(&installation.postgres, root.path(), standby).await?;
        if lacks.synchronous_standby {
            databases.link.set(relay::Fault::Delay(STANDBY_LATE));
        }
        let counters = Counters::start(&installation.redis, root.path()).await?;
        if lacks.timelines {
            databases.execute(NO_TIMELINES).await?;
        }
        let query = if lacks.timelines { HIDDEN } else { "" };
        let [one, other] = databases.ports();
        let to_commands = [Relay::to(one).await?, Relay::to(other).await?];
        let url = url_of(to_commands.each_ref().map(|relay| relay.port)) + query;
        let data = root.path().join("operator");
        let operator = Arc::new(DataDir::beside(&installation.program, &data, &url));
        block_in_place(|| {
            operator.run(&["migrate"])?;
            operator.import_pending(1..=i64::try_from(orders)?)?;
            operator.run_with_input(&["pets", "import", "-"], b"id,name\n1,Rex\n")
        })?;
        if lacks.sequence_of_commits {
            databases.execute(SEQUENCE).await?;
        }
        let (mut servers, mut clocks) = (Vec::new(), Vec::new());
        for name in NAMES {
            let engines = (databases.ports(), counters.primary()?.port());
            let program = &installation.program;
            let server =
                Server::new(name, program, root.path(), engines, lacks.networks, query).await?;
            servers.push(server);
            clocks.push(Preload::wall_clock()?);
        }
        Ok(Site { databases, counters, servers, operator, to_commands, clocks, root })
    }

    /// Starts this server, again if it finds no primary in time, as a supervisor does.
    pub async fn start_server(&mut self, number: usize) -> anyhow::Result<()> {
        for _ in 1..STARTS {
            if self.try_to_start(number).is_ok() {
                return Ok(());
            }
            tokio::time::sleep(START_AGAIN_AFTER).await;
        }
        self.try_to_start(number)
    }

    fn try_to_start(&mut self, number: usize) -> anyhow::Result<()> {
        let clock = self.clocks.get(number).context("each server has a clock")?;
        let server = self.servers.get_mut(number).context("there is such a server")?;
        server.start(|command| {
            clock.put_into(command);
        })
    }

    /// Starts all servers, and waits until they are ready.
    pub async fn start_servers(&mut self) -> anyhow::Result<()> {
        for number in 0..self.servers.len() {
            self.start_server(number).await?;
        }
        for server in &self.servers {
            self.ready(server).await?;
        }
        Ok(())
    }

    /// Waits until it is ready.
    pub async fn ready(&self, server: &Server) -> anyhow::Result<()> {
        let began = Instant::now();
        while !server.is_ready().await {
            if began.elapsed() > GIVEN_UP_AFTER {
                anyhow::bail!("server {} is not ready after {GIVEN_UP_AFTER:?}", server.name);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Leads all servers to the Redis that is the primary.
    pub fn lead_to_counters(&self) -> anyhow::Result<()> {
        let port = self.counters.primary()?.port();
        self.servers.iter().for_each(|server| server.to_limits.retarget(port));
        Ok(())
    }

    /// Where everything is.
    pub fn root(&self) -> PathBuf {
        self.root.path().to_path_buf()
    }

    /// Leaves data and logs where they are.
    pub fn keep(&mut self) {
        self.databases.keep();
        self.counters.keep();
        self.root.disable_cleanup(true);
    }
}
