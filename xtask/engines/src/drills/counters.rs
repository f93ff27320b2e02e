//! Redis under drill: a primary and its replica, which can take its place.

use anyhow::{Context, bail};
use redis::Client;
use std::path::Path;
use std::time::{Duration, Instant};
use testbed::redis::{InstalledRedis, Redis};
use testbed::relay::Relay;
use tokio::task::block_in_place;

/// How long a replica may take to have everything.
const SYNC_TIMEOUT: Duration = Duration::from_secs(20);

/// Both servers.
pub struct Counters {
    /// The primary first; `None` while it does not run.
    primary: Option<Redis>,
    replica: Option<Redis>,
    /// The network between both.
    pub link: Relay,
}

impl Counters {
    /// Starts both below this directory.
    pub async fn start(installed: &InstalledRedis, directory: &Path) -> anyhow::Result<Counters> {
        let start = || installed.start_in(directory, &[]);
        let (primary, replica) = block_in_place(|| anyhow::Ok((start()?, start()?)))?;
        let link = Relay::to(primary.port()).await?;
        let counters = Counters { primary: Some(primary), replica: Some(replica), link };
        counters.follow().await?;
        Ok(counters)
    }

    /// The primary.
    pub fn primary(&self) -> anyhow::Result<&Redis> {
        self.primary.as_ref().context("Redis does not run")
    }

    /// SIGKILL for the primary, which is started again with what its file has.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let killed = self.primary.take().context("Redis does not run")?.kill()?;
        self.primary = Some(killed.restart()?);
        Ok(())
    }

    /// SIGKILL for the primary, and the replica in its place; the old one, started again,
    /// follows it.
    pub async fn promote(&mut self) -> anyhow::Result<()> {
        let killed = self.primary.take().context("Redis does not run")?.kill()?;
        let promoted = self.replica.take().context("there is no replica")?;
        command(&promoted, &["REPLICAOF", "NO", "ONE"]).await?;
        self.primary = Some(promoted);
        self.replica = Some(block_in_place(|| killed.restart())?);
        Ok(())
    }

    /// Removes everything that was counted.
    pub async fn empty(&self) -> anyhow::Result<()> {
        command(self.primary()?, &["FLUSHALL"]).await
    }

    /// Has the replica follow the primary, and waits until it has everything.
    pub async fn follow(&self) -> anyhow::Result<()> {
        let replica = self.replica.as_ref().context("there is no replica")?;
        self.link.retarget(self.primary()?.port());
        command(replica, &["REPLICAOF", "127.0.0.1", &self.link.port.to_string()]).await?;
        let began = Instant::now();
        loop {
            let mut connection = connection(replica).await?;
            let info: String =
                redis::cmd("INFO").arg("replication").query_async(&mut connection).await?;
            if info.contains("master_link_status:up") {
                return Ok(());
            }
            if began.elapsed() > SYNC_TIMEOUT {
                bail!("the replica of Redis has not everything: {info}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Leaves data and logs where they are.
    pub fn keep(&mut self) {
        [&mut self.primary, &mut self.replica].into_iter().flatten().for_each(Redis::keep);
    }
}

async fn connection(server: &Redis) -> anyhow::Result<redis::aio::MultiplexedConnection> {
    Ok(Client::open(server.url())?.get_multiplexed_async_connection().await?)
}

async fn command(server: &Redis, words: &[&str]) -> anyhow::Result<()> {
    let mut command = redis::Cmd::new();
    command.arg(words);
    Ok(command.query_async(&mut connection(server).await?).await?)
}
