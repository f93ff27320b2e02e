//! The PostgreSQL servers of a chaos run: a primary, its synchronous standby, and a third node.
//! After a promotion, the third node becomes the standby. The replaced primary may still run, so it
//! cannot be the standby.

use anyhow::Context;
use std::path::Path;
use testbed::free_address;
use testbed::postgres::{Cluster, Installed, Postgres};
use testbed::relay::Relay;
use tokio::task::block_in_place;

pub const NODES: usize = 3;

/// The names of the nodes and of their directories. A promotion changes a node's role but not its
/// name.
const NAMES: [&str; NODES] = ["primary", "standby", "third"];

pub struct Databases {
    cluster: Cluster,
    /// `None` for a node that does not run.
    nodes: [Option<Postgres>; NODES],
    ports: [u16; NODES],
    /// Indexes of the current primary and standby in `nodes`.
    pub primary: usize,
    pub standby: usize,
    /// The relay through which the standby connects to the primary.
    pub link: Relay,
}

impl Databases {
    pub async fn start(installed: &Installed, directory: &Path) -> anyhow::Result<Databases> {
        let cluster = block_in_place(|| Cluster::create_in(installed, directory))?;
        let pair = cluster.pair().await?;
        let ports = [pair.primary.port, pair.standby.port, free_address()?.port()];
        let nodes = [Some(pair.primary), Some(pair.standby), None];
        let link = pair.link;
        let (primary, standby) = (0, 1);
        Ok(Databases { cluster, nodes, ports, primary, standby, link })
    }

    pub fn ports(&self) -> [u16; NODES] {
        self.ports
    }

    pub fn primary(&self) -> anyhow::Result<&Postgres> {
        self.node(self.primary)
    }

    pub fn standby(&self) -> anyhow::Result<&Postgres> {
        self.node(self.standby)
    }

    pub fn primary_port(&self) -> u16 {
        self.ports.get(self.primary).copied().unwrap_or_default()
    }

    /// Returns the node that is neither the primary nor the standby. After a promotion, this node
    /// is the replaced primary. Fails if the node does not run.
    pub fn third(&self) -> anyhow::Result<&Postgres> {
        self.node(self.third_number())
    }

    pub const fn third_number(&self) -> usize {
        NODES - self.primary - self.standby
    }

    fn node(&self, number: usize) -> anyhow::Result<&Postgres> {
        let node = self.nodes.get(number).and_then(Option::as_ref);
        node.with_context(|| format!("node {number} of PostgreSQL does not run"))
    }

    /// Kills a node with SIGKILL, if it runs. Unsynced data survives, because the operating system
    /// keeps running.
    pub fn kill(&mut self, number: usize) -> anyhow::Result<()> {
        self.nodes.get_mut(number).and_then(Option::take).map_or(Ok(()), Postgres::kill)
    }

    /// Starts the killed primary or standby again on its data, and waits until the standby confirms
    /// commits.
    pub async fn restart(&mut self, number: usize) -> anyhow::Result<()> {
        self.start_node(number, number == self.standby).await?;
        self.primary()?.wait_for_standby().await
    }

    /// Promotes the standby. The replaced primary becomes the third node and may continue to run.
    pub async fn promote(&mut self) -> anyhow::Result<()> {
        self.standby()?.promote().await?;
        (self.primary, self.standby) = (self.standby, self.third_number());
        Ok(())
    }

    /// Rebuilds the node `standby` from the new primary, and makes it the synchronous standby.
    /// Before the promotion, this node was the third node.
    pub async fn add_standby(&mut self) -> anyhow::Result<()> {
        let standby = self.standby;
        self.kill(standby)?;
        self.link.retarget(self.primary_port());
        let name = *NAMES.get(standby).context("a node")?;
        self.cluster.rebuild(name, self.primary()?).await?;
        self.start_node(standby, true).await?;
        self.primary()?.demand_standby().await
    }

    async fn start_node(&mut self, node: usize, is_standby: bool) -> anyhow::Result<()> {
        let (name, port) = NAMES.get(node).zip(self.ports.get(node)).context("a node")?;
        let upstream = Cluster::upstream(self.link.port);
        let settings = [("primary_conninfo", upstream.as_str())];
        let settings = if is_standby { &settings[..] } else { &[] };
        let started = self.cluster.start_at(name, *port, settings).await?;
        *self.nodes.get_mut(node).context("a node")? = Some(started);
        Ok(())
    }

    /// From now on, dropping the databases does not delete their data and logs.
    pub fn keep(&mut self) {
        self.cluster.keep();
    }
}
