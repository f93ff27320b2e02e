//! The servers of a chaos run, their store, the directory of the operator's commands, and the
//! relays in front of the servers and of PostgreSQL.

use super::databases::Databases;
use super::faults::FaultKind;
use super::server::Server;
use super::topology::Topology;
use crate::replicas::url_of;
use crate::scenario::Tools;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use testbed::relay::{Relay, Tampering};
use testbed::{DataDir, Full, Preload, SmallDisk};
use tokio::task::block_in_place;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// The seeded defects of a negative control; the default is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeededDefects {
    /// Replacements in the statements that servers send to PostgreSQL.
    pub tampering: Tampering,
    /// Instead of hanging during a disk fault, syncs of an embedded store return success without
    /// syncing.
    pub has_lying_disk: bool,
}

pub struct Site {
    pub topology: Topology,
    /// The PostgreSQL servers; `None` if the store is embedded.
    pub databases: Option<Databases>,
    pub servers: Vec<Server>,
    pub operator: Arc<DataDir>,
    /// The relays from the operator's commands to each node of PostgreSQL.
    pub to_commands: Vec<Relay>,
    /// A guard that keeps the disk of an embedded store full. Dropping the guard frees the space.
    pub full: Option<Full>,
    /// The kinds of fault that have occurred and had an effect.
    pub injected: BTreeSet<FaultKind>,
    /// The number of unsynced bytes that each power cut discarded.
    pub dropped: Vec<usize>,
    disk: Option<SmallDisk>,
    /// A disk with copies of the store's files. The copies contain only the data that survives a
    /// power cut.
    synced: Option<SmallDisk>,
    seeded_defects: SeededDefects,
    root: TempDir,
}

const START_ATTEMPTS: u32 = 10;
const START_PAUSE: Duration = Duration::from_millis(200);

/// The size of each small disk in KiB, large enough for an embedded store.
const DISK_KIB: u64 = 64 * 1024;

impl Site {
    /// Starts everything but the servers. The store has pending orders 1 to `orders`.
    pub async fn start(
        tools: &Tools,
        topology: Topology,
        orders: usize,
        seeded_defects: SeededDefects,
    ) -> anyhow::Result<Site> {
        let root = tempfile::Builder::new().prefix("chaos-").tempdir()?;
        // If this program runs as root, PostgreSQL runs as another user, who must be able to enter
        // this directory.
        std::fs::set_permissions(root.path(), Permissions::from_mode(0o755))?;
        let site = match topology {
            Topology::Postgres => Site::on_postgres(tools, root, seeded_defects).await?,
            Topology::Embedded => Site::embedded(tools, root, seeded_defects)?,
        };
        block_in_place(|| {
            if topology == Topology::Postgres {
                site.operator.run(&["migrate"])?;
            }
            site.operator.import_pending(1..=i64::try_from(orders)?)?;
            site.operator.run_with_input(&["pets", "import", "-"], b"id,name\n1,Rex\n")
        })?;
        Ok(site)
    }

    async fn on_postgres(
        tools: &Tools,
        root: TempDir,
        seeded_defects: SeededDefects,
    ) -> anyhow::Result<Site> {
        let databases = Databases::start(&tools.postgres()?, root.path()).await?;
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
        let (to_commands, url) = relays(&nodes, Tampering::default()).await?;
        let operator = DataDir::on_store(program, &root.path().join("operator"), &url);
        let mut servers = Vec::new();
        for name in NAMES {
            let (to_store, url) = relays(&nodes, seeded_defects.tampering).await?;
            let directory = root.path().join(name);
            let data = DataDir::on_store(program, &directory, &url);
            let clock = Preload::wall_clock()?;
            servers.push(Server::new(name, data, &directory, clock, to_store)?);
        }
        let site =
            Site::without_stores(Topology::Postgres, servers, operator, seeded_defects, root);
        Ok(Site { databases: Some(databases), to_commands, ..site })
    }

    fn embedded(
        tools: &Tools,
        root: TempDir,
        seeded_defects: SeededDefects,
    ) -> anyhow::Result<Site> {
        let (disk, synced) = (SmallDisk::mount(DISK_KIB)?, SmallDisk::mount(DISK_KIB)?);
        let ([name, ..], fsync) = (NAMES, Preload::disk()?);
        let data = || DataDir::at(&tools.program, disk.path()).keep_synced(&fsync, synced.path());
        let logs = root.path().join(name);
        let operator = data();
        let server = Server::new(name, data(), &logs, fsync, Vec::new())?;
        let site =
            Site::without_stores(Topology::Embedded, vec![server], operator, seeded_defects, root);
        Ok(Site { disk: Some(disk), synced: Some(synced), ..site })
    }

    fn without_stores(
        topology: Topology,
        servers: Vec<Server>,
        operator: DataDir,
        seeded_defects: SeededDefects,
        root: TempDir,
    ) -> Site {
        Site {
            topology,
            databases: None,
            servers,
            operator: Arc::new(operator),
            to_commands: Vec::new(),
            full: None,
            injected: BTreeSet::new(),
            dropped: Vec::new(),
            disk: None,
            synced: None,
            seeded_defects,
            root,
        }
    }

    pub fn databases(&self) -> anyhow::Result<&Databases> {
        self.databases.as_ref().context("there is no PostgreSQL")
    }

    pub fn databases_mut(&mut self) -> anyhow::Result<&mut Databases> {
        self.databases.as_mut().context("there is no PostgreSQL")
    }

    pub fn disk(&self) -> anyhow::Result<&SmallDisk> {
        self.disk.as_ref().context("there is no small disk")
    }

    /// Returns the setting of [`testbed::Preload::disk`] that makes each sync hang. For a lying
    /// disk, returns the setting that makes syncs succeed without effect.
    pub fn hung_disk_setting(&self) -> i64 {
        if self.seeded_defects.has_lying_disk { -2 } else { -3 }
    }

    pub fn has_dropped(&self) -> bool {
        self.dropped.last().is_some_and(|bytes| *bytes > 0)
    }

    /// Discards what the embedded store has written but not synced. Keeps the file of request
    /// counts, because the server replaces it only with a synced file.
    pub fn drop_unsynced(&mut self) -> anyhow::Result<()> {
        let synced = self.synced.as_ref().context("there is no small disk")?;
        let mut dropped = 0;
        for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
            let (file, copy) = (self.disk()?.path().join(name), synced.path().join(name));
            // The shared-memory index of the WAL is never synced, so its bytes are not counted as
            // discarded.
            if !name.ends_with("-shm") {
                dropped += differing_bytes(&file, &copy)?;
            }
            if file.exists() {
                std::fs::remove_file(&file)?;
            }
            if copy.exists() {
                std::fs::copy(copy, file)?;
            }
        }
        self.dropped.push(dropped);
        Ok(())
    }

    /// Starts a server, in up to `START_ATTEMPTS` attempts. A supervisor, such as systemd, would
    /// also try again.
    pub async fn start_server(&mut self, number: usize) -> anyhow::Result<()> {
        for _ in 1..START_ATTEMPTS {
            if self.server_mut(number)?.start().is_ok() {
                return Ok(());
            }
            tokio::time::sleep(START_PAUSE).await;
        }
        self.server_mut(number)?.start()
    }

    pub fn server(&self, number: usize) -> anyhow::Result<&Server> {
        self.servers.get(number).context("there is no such server")
    }

    pub fn server_mut(&mut self, number: usize) -> anyhow::Result<&mut Server> {
        self.servers.get_mut(number).context("there is no such server")
    }

    pub async fn start_servers(&mut self) -> anyhow::Result<()> {
        for number in 0..self.servers.len() {
            self.start_server(number).await?;
        }
        for server in &self.servers {
            server.ready().await?;
        }
        Ok(())
    }

    pub fn root(&self) -> PathBuf {
        self.root.path().to_path_buf()
    }

    /// Keeps the recording, the logs and PostgreSQL's data. The disks of an embedded store are
    /// unmounted anyway.
    pub fn keep(&mut self) {
        self.databases.iter_mut().for_each(Databases::keep);
        self.root.disable_cleanup(true);
    }
}

fn differing_bytes(one: &Path, other: &Path) -> anyhow::Result<usize> {
    let read = |path: &Path| if path.exists() { std::fs::read(path) } else { Ok(Vec::new()) };
    let (one, other) = (read(one)?, read(other)?);
    let differ = one.iter().zip(&other).filter(|(one, other)| one != other).count();
    Ok(differ + one.len().abs_diff(other.len()))
}
