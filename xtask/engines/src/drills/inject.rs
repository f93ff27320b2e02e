//! Carries a fault out, and undoes it.

use super::faults::{Fault, FaultKind};
use super::server::Server;
use super::site::Site;
use anyhow::Context;
use history::Journal;
use history::event::{FaultBegun, What};
use std::time::{Duration, Instant};
use testbed::Signal;
use testbed::relay::{self, Relay};
use tokio::task::block_in_place;
use tokio::time::sleep;

/// How long an emptied Redis, or a promoted one, may take to be noticed, if counts were lost:
/// servers send an empty batch every half second.
const NOTICED_WITHIN: Duration = Duration::from_secs(3);

/// How long servers do not reach the old primary after a promotion.
const LOST_FOR: Duration = Duration::from_millis(800);

/// How far a server's wall clock is moved, in seconds.
const CLOCK_STEP: i64 = 100_000;

/// What is left to do after a fault, once everything is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing.
    None,
    /// A node of PostgreSQL is to follow the one that was promoted.
    Standby,
    /// A node of Redis is to follow the one that was promoted.
    Replica,
}

impl Fault {
    /// Carries it out and undoes it; what is left to do.
    pub async fn inject(&self, site: &mut Site, journal: &Journal) -> anyhow::Result<Repair> {
        let number = self.server % site.servers.len();
        journal.note(What::Fault(self.begun(site, number)));
        let repair = self.strike(site, number, journal).await.with_context(|| self.kind.name())?;
        journal.note(What::Undone);
        Ok(repair)
    }

    fn begun(&self, site: &Site, number: usize) -> FaultBegun {
        use FaultKind::{
            ClientsDelay, ClientsHalfOpen, ClientsReset, RollingRestart, ServerKill, ServerPause,
        };
        let struck = site.servers.get(number).into_iter();
        let servers: Vec<&Server> = match self.kind {
            ServerKill | ServerPause | ClientsReset | ClientsDelay | ClientsHalfOpen => {
                struck.collect()
            }
            RollingRestart => site.servers.iter().collect(),
            _ => Vec::new(),
        };
        FaultBegun {
            name: self.kind.name(),
            servers: servers.into_iter().map(|server| server.name.to_string()).collect(),
            may_lose_counts: self.kind.may_lose_counts(),
        }
    }

    async fn strike(
        &self,
        site: &mut Site,
        number: usize,
        journal: &Journal,
    ) -> anyhow::Result<Repair> {
        let lasts = self.lasts;
        match self.kind {
            FaultKind::ServerKill => {
                site.servers.get_mut(number).context("a server")?.kill()?;
                sleep(lasts).await;
                site.start_server(number).await?;
            }
            FaultKind::ServerPause => {
                let server = site.servers.get(number).context("a server")?;
                server.signal(Signal::STOP)?;
                sleep(lasts).await;
                server.signal(Signal::CONT)?;
            }
            FaultKind::RollingRestart => {
                for number in 0..site.servers.len() {
                    site.servers.get_mut(number).context("a server")?.stop()?;
                    site.start_server(number).await?;
                    site.ready(site.servers.get(number).context("a server")?).await?;
                    sleep(lasts).await;
                }
            }
            FaultKind::ServerClock => {
                let clock = site.clocks.get(number).context("a clock")?;
                clock.set(if self.strikes_all { CLOCK_STEP } else { -CLOCK_STEP })?;
                sleep(lasts).await;
                clock.set(0)?;
            }
            FaultKind::PrimaryKill => {
                site.databases.kill_primary()?;
                sleep(lasts).await;
                site.databases.restart_primary().await?;
            }
            FaultKind::PrimaryPause => {
                site.databases.primary()?.signal_all(Signal::STOP)?;
                sleep(lasts).await;
                site.databases.primary()?.signal_all(Signal::CONT)?;
            }
            FaultKind::StandbyKill => {
                site.databases.kill_standby()?;
                sleep(lasts).await;
                site.databases.restart_standby().await?;
            }
            FaultKind::StandbyPause => {
                site.databases.standby()?.signal_all(Signal::STOP)?;
                sleep(lasts).await;
                site.databases.standby()?.signal_all(Signal::CONT)?;
            }
            FaultKind::StandbyCut => {
                disturb([&site.databases.link], relay::Fault::Silent, lasts).await;
            }
            FaultKind::PromoteKilled | FaultKind::PromotePaused | FaultKind::PromoteCut => {
                self.promote(site).await?;
                return Ok(Repair::Standby);
            }
            FaultKind::RedisKill => {
                block_in_place(|| site.counters.restart())?;
            }
            FaultKind::RedisPause => {
                site.counters.primary()?.signal(Signal::STOP)?;
                sleep(lasts).await;
                site.counters.primary()?.signal(Signal::CONT)?;
            }
            FaultKind::RedisPromote => {
                let before = lost(site).await?;
                site.counters.promote().await?;
                site.lead_to_counters()?;
                note_loss(site, before, journal).await?;
                return Ok(Repair::Replica);
            }
            FaultKind::RedisEmptied => {
                let before = lost(site).await?;
                site.counters.empty().await?;
                note_loss(site, before, journal).await?;
            }
            FaultKind::CommandsCut => {
                disturb(&site.to_commands, relay::Fault::Silent, lasts).await;
            }
            FaultKind::CommandsCutAtCommit => {
                disturb(&site.to_commands, relay::Fault::CutAtCommit, lasts).await;
            }
            FaultKind::RedisLinkCut => {
                disturb([&site.counters.link], relay::Fault::Silent, lasts).await;
            }
            _ => self.disturb_networks(site, number).await,
        }
        Ok(Repair::None)
    }

    async fn promote(&self, site: &mut Site) -> anyhow::Result<()> {
        let old = 1 - site.databases.standby_number();
        let databases = &mut site.databases;
        match self.kind {
            FaultKind::PromotePaused => {
                databases.primary()?.signal_all(Signal::STOP)?;
                databases.promote().await?;
                sleep(self.lasts).await;
                // It is not the standby: it believes that it is the primary.
                databases.standby()?.signal_all(Signal::CONT)?;
            }
            FaultKind::PromoteCut => {
                databases.link.set(relay::Fault::Silent);
                self.cut_off_others(site, old, relay::Fault::Reset);
                sleep(self.lasts).await;
                site.databases.promote().await?;
                site.databases.link.set(relay::Fault::None);
                site.databases.link.retarget(1);
            }
            _ => {
                databases.kill_primary()?;
                sleep(self.lasts).await;
                databases.promote().await?;
            }
        }
        if self.strikes_all || self.kind == FaultKind::PromoteCut {
            self.cut_off_others(site, old, relay::Fault::Reset);
            sleep(LOST_FOR).await;
            self.cut_off_others(site, old, relay::Fault::None);
        }
        Ok(())
    }

    /// All servers but one lose the old primary, which may still answer that one.
    fn cut_off_others(&self, site: &Site, old: usize, fault: relay::Fault) {
        let stays = self.server % site.servers.len();
        let others = site.servers.iter().enumerate().filter(|(number, _)| *number != stays);
        let relays = others.filter_map(|(_, server)| server.to_store.get(old));
        relays.for_each(|relay| relay.set(fault));
    }

    async fn disturb_networks(&self, site: &Site, number: usize) {
        use relay::Fault::{CutAtCommit, Delay, NoAnswers, Reset, Silent};
        type Relays = fn(&Server) -> Vec<&Relay>;
        let to_clients: Relays = |server| vec![&server.to_clients];
        let to_store: Relays = |server| server.to_store.iter().collect();
        let to_limits: Relays = |server| vec![&server.to_limits];
        let (relays, fault) = match self.kind {
            FaultKind::ClientsReset => (to_clients, Reset),
            FaultKind::ClientsDelay => (to_clients, Delay(self.delay)),
            FaultKind::ClientsHalfOpen => (to_clients, NoAnswers),
            FaultKind::StoreCut => (to_store, Silent),
            FaultKind::StoreDelay => (to_store, Delay(self.delay / 4)),
            FaultKind::StoreHalfOpen => (to_store, NoAnswers),
            FaultKind::StoreReset => (to_store, Reset),
            FaultKind::StoreCutAtCommit => (to_store, CutAtCommit),
            FaultKind::RedisCut => (to_limits, Silent),
            FaultKind::RedisDelay => (to_limits, Delay(self.delay)),
            FaultKind::RedisHalfOpen => (to_limits, NoAnswers),
            _ => (to_limits, Reset),
        };
        let is_between_clients = matches!(
            self.kind,
            FaultKind::ClientsReset | FaultKind::ClientsDelay | FaultKind::ClientsHalfOpen
        );
        let strikes_all = self.strikes_all && !is_between_clients;
        let is_struck = |other: usize| strikes_all || other == number;
        let numbered = site.servers.iter().enumerate();
        let struck = numbered.filter(|(other, _)| is_struck(*other));
        let struck: Vec<&Relay> = struck.flat_map(|(_, server)| relays(server)).collect();
        disturb(struck, fault, self.lasts).await;
    }
}

/// These networks do this for so long.
async fn disturb<'a>(
    relays: impl IntoIterator<Item = &'a Relay>,
    fault: relay::Fault,
    lasts: Duration,
) {
    let relays: Vec<&Relay> = relays.into_iter().collect();
    relays.iter().for_each(|relay| relay.set(fault));
    sleep(lasts).await;
    relays.iter().for_each(|relay| relay.set(relay::Fault::None));
}

/// How often each server noticed lost counts.
async fn lost(site: &Site) -> anyhow::Result<Vec<u64>> {
    let mut lost = Vec::new();
    for server in &site.servers {
        lost.push(server.counts_lost().await?);
    }
    Ok(lost)
}

/// Waits for as long as servers may take, and notes whether they noticed a loss.
async fn note_loss(site: &Site, before: Vec<u64>, journal: &Journal) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < NOTICED_WITHIN {
        sleep(Duration::from_millis(100)).await;
        if lost(site).await? != before {
            journal.note(What::CountsLost);
            break;
        }
    }
    Ok(())
}
