//! PostgreSQL under drill: a primary, its synchronous standby, and room for a third node, which
//! becomes the standby of one that was promoted while the replaced primary may still run.

use anyhow::Context;
use std::path::Path;
use testbed::free_address;
use testbed::postgres::{Cluster, Installed, Postgres};
use testbed::relay::Relay;
use tokio::task::block_in_place;

/// How many nodes there are.
pub const NODES: usize = 3;

/// Their names, which are those of their directories.
const NAMES: [&str; NODES] = ["primary", "standby", "third"];

/// All nodes.
pub struct Databases {
    cluster: Cluster,
    /// `None` while one does not run.
    nodes: [Option<Postgres>; NODES],
    ports: [u16; NODES],
    /// Which node is the primary, and which its standby.
    pub primary: usize,
    pub standby: usize,
    /// The network from the standby to the primary.
    pub link: Relay,
}

impl Databases {
    /// Starts a primary and its standby below this directory.
    pub async fn start(installed: &Installed, directory: &Path) -> anyhow::Result<Databases> {
        let cluster = block_in_place(|| Cluster::create_in(installed, directory))?;
        let pair = cluster.pair().await?;
        let ports = [pair.primary.port, pair.standby.port, free_address()?.port()];
        let nodes = [Some(pair.primary), Some(pair.standby), None];
        let link = pair.link;
        let (primary, standby) = (0, 1);
        Ok(Databases { cluster, nodes, ports, primary, standby, link })
    }

    /// Where the nodes listen.
    pub fn ports(&self) -> [u16; NODES] {
        self.ports
    }

    /// The primary.
    pub fn primary(&self) -> anyhow::Result<&Postgres> {
        self.node(self.primary)
    }

    /// The standby.
    pub fn standby(&self) -> anyhow::Result<&Postgres> {
        self.node(self.standby)
    }

    /// Where the primary listens.
    pub fn primary_port(&self) -> u16 {
        self.ports.get(self.primary).copied().unwrap_or_default()
    }

    /// The node that is neither: after a promotion the primary that was replaced.
    pub fn third(&self) -> anyhow::Result<&Postgres> {
        self.node(self.third_number())
    }

    /// Its number.
    pub const fn third_number(&self) -> usize {
        NODES - self.primary - self.standby
    }

    fn node(&self, number: usize) -> anyhow::Result<&Postgres> {
        let node = self.nodes.get(number).and_then(Option::as_ref);
        node.with_context(|| format!("node {number} of PostgreSQL does not run"))
    }

    /// SIGKILL for a node, if it runs: what it has not flushed is lost. Whether the system writes
    /// what was flushed is PostgreSQL's promise; servers only set what a commit waits for.
    pub fn kill(&mut self, number: usize) -> anyhow::Result<()> {
        self.nodes.get_mut(number).and_then(Option::take).map_or(Ok(()), Postgres::kill)
    }

    /// Starts the primary or the standby again, where it was, and waits until commits can be
    /// confirmed.
    pub async fn restart(&mut self, number: usize) -> anyhow::Result<()> {
        self.start_node(number, number == self.standby).await?;
        self.primary()?.wait_for_standby().await
    }

    /// Promotes the standby. The node that was the primary may go on, as the third.
    pub async fn promote(&mut self) -> anyhow::Result<()> {
        self.standby()?.promote().await?;
        (self.primary, self.standby) = (self.standby, self.third_number());
        Ok(())
    }

    /// Gives the primary, which was promoted, a standby of its own.
    pub async fn give_standby(&mut self) -> anyhow::Result<()> {
        let standby = self.standby;
        self.kill(standby)?;
        self.link.retarget(self.primary_port());
        let name = *NAMES.get(standby).context("a node")?;
        self.cluster.rebuild(name, self.primary()?).await?;
        self.start_node(standby, true).await?;
        self.primary()?.demand_standby().await
    }

    async fn start_node(&mut self, node: usize, follows: bool) -> anyhow::Result<()> {
        let (name, port) = NAMES.get(node).zip(self.ports.get(node)).context("a node")?;
        let upstream = Cluster::upstream(self.link.port);
        let settings = [("primary_conninfo", upstream.as_str())];
        let settings = if follows { &settings[..] } else { &[] };
        let started = self.cluster.start_at(name, *port, settings).await?;
        *self.nodes.get_mut(node).context("a node")? = Some(started);
        Ok(())
    }

    /// Leaves data and logs where they are.
    pub fn keep(&mut self) {
        self.cluster.keep();
    }
}
