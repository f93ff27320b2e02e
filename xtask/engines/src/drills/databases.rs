//! PostgreSQL under drill: two nodes, of which one is the primary and the other its synchronous
//! standby. After a promotion the old primary is rebuilt, so that the next one can come.

use anyhow::Context;
use std::path::Path;
use testbed::postgres::{Cluster, DATABASE, Installed, Postgres};
use testbed::relay::Relay;
use tokio::task::block_in_place;

/// The names of the nodes, which are those of their directories.
const NODES: [&str; 2] = ["primary", "standby"];

/// Whether commits wait for the standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standby {
    /// They do.
    Synchronous,
    /// They do not: a control, which clients must notice.
    Asynchronous,
}

/// Both nodes.
pub struct Databases {
    cluster: Cluster,
    /// `None` while one does not run.
    nodes: [Option<Postgres>; 2],
    ports: [u16; 2],
    /// Which node is the primary.
    primary: usize,
    /// The network from the standby to the primary.
    pub link: Relay,
    standby: Standby,
}

impl Databases {
    /// Starts both below this directory.
    pub async fn start(
        installed: &Installed,
        directory: &Path,
        standby: Standby,
    ) -> anyhow::Result<Databases> {
        let cluster = block_in_place(|| Cluster::create_in(installed, directory))?;
        let pair = cluster.pair().await?;
        let ports = [pair.primary.port, pair.standby.port];
        let nodes = [Some(pair.primary), Some(pair.standby)];
        let databases = Databases { cluster, nodes, ports, primary: 0, link: pair.link, standby };
        if standby == Standby::Asynchronous {
            databases.primary()?.set("synchronous_standby_names", "").await?;
        }
        Ok(databases)
    }

    /// Where the nodes listen.
    pub fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// The primary.
    pub fn primary(&self) -> anyhow::Result<&Postgres> {
        let [one, other] = &self.nodes;
        let node = if self.primary == 0 { one } else { other };
        node.as_ref().context("the primary does not run")
    }

    /// The standby.
    pub fn standby(&self) -> anyhow::Result<&Postgres> {
        let [one, other] = &self.nodes;
        let node = if self.primary == 0 { other } else { one };
        node.as_ref().context("the standby does not run")
    }

    /// The number of the node that is not the primary.
    pub fn standby_number(&self) -> usize {
        1 - self.primary
    }

    /// SIGKILL for the primary.
    pub fn kill_primary(&mut self) -> anyhow::Result<()> {
        let node = self.nodes.get_mut(self.primary).and_then(Option::take);
        node.context("the primary does not run")?.kill()
    }

    /// SIGKILL for the standby.
    pub fn kill_standby(&mut self) -> anyhow::Result<()> {
        let node = self.nodes.get_mut(1 - self.primary).and_then(Option::take);
        node.context("the standby does not run")?.kill()
    }

    /// Starts the primary again, where it was, and waits until it can confirm commits.
    pub async fn restart_primary(&mut self) -> anyhow::Result<()> {
        self.start_node(self.primary, false).await?;
        self.wait_for_standby().await
    }

    /// Starts the standby again, where it was.
    pub async fn restart_standby(&mut self) -> anyhow::Result<()> {
        self.start_node(1 - self.primary, true).await?;
        self.wait_for_standby().await
    }

    /// Promotes the standby. The node that was the primary may go on.
    pub async fn promote(&mut self) -> anyhow::Result<()> {
        self.standby()?.promote().await?;
        self.primary = 1 - self.primary;
        Ok(())
    }

    /// Makes the node that is not the primary follow it, from the beginning.
    pub async fn rebuild_standby(&mut self) -> anyhow::Result<()> {
        let old = 1 - self.primary;
        if let Some(node) = self.nodes.get_mut(old).and_then(Option::take) {
            node.kill()?;
        }
        let port = *self.ports.get(self.primary).context("two nodes")?;
        self.link.retarget(port);
        let name = *NODES.get(old).context("two nodes")?;
        block_in_place(|| self.cluster.rebuild(name, self.primary()?))?;
        self.start_node(old, true).await?;
        if self.standby == Standby::Synchronous {
            self.primary()?.set("synchronous_standby_names", "standby").await?;
        }
        self.wait_for_standby().await
    }

    async fn wait_for_standby(&self) -> anyhow::Result<()> {
        match self.standby {
            Standby::Synchronous => self.primary()?.wait_for_standby().await,
            Standby::Asynchronous => Ok(()),
        }
    }

    async fn start_node(&mut self, node: usize, follows: bool) -> anyhow::Result<()> {
        let (name, port) = NODES.get(node).zip(self.ports.get(node)).context("two nodes")?;
        let upstream = Cluster::upstream(self.link.port);
        let settings = [("primary_conninfo", upstream.as_str())];
        let settings = if follows { &settings[..] } else { &[] };
        let started = self.cluster.start_at(name, *port, settings).await?;
        *self.nodes.get_mut(node).context("two nodes")? = Some(started);
        Ok(())
    }

    /// Runs statements in the store's database.
    pub async fn execute(&self, statements: &str) -> anyhow::Result<()> {
        Ok(self.primary()?.admin(DATABASE).await?.batch_execute(statements).await?)
    }

    /// Leaves data and logs where they are.
    pub fn keep(&mut self) {
        self.cluster.keep();
    }
}
