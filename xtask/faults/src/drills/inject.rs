//! Carries faults out, and undoes them.

use super::databases::Databases;
use super::faults::{Drawn, Fault, FaultKind};
use super::server::Server;
use super::site::Site;
use super::topology::Topology;
use anyhow::Context;
use history::event::{FaultBegun, What};
use history::workload::Workload;
use std::time::Duration;
use testbed::relay::{self, Relay};
use testbed::{Signal, wait_for};
use tokio::time::sleep;

/// How long servers do not reach the old primary after a promotion.
const LOST_FOR: Duration = Duration::from_millis(800);

/// How long the disk holds what is to be synced before the power is cut.
const HELD_FOR: Duration = Duration::from_millis(300);

/// How soon something meets a fault: the operator rests between two commands. A fault that comes
/// with another may find that nothing commits.
const MET_WITHIN: Duration = Duration::from_secs(10);
const PAIR_MET_WITHIN: Duration = Duration::from_secs(1);

/// How far a server's wall clock is moved, in seconds.
const CLOCK_STEP: i64 = 100_000;

/// How late the store answers a server that is told to stop, so that requests are under way, and
/// how long before that no client chooses it any more.
const STORE_DELAY: Duration = Duration::from_millis(150);
const OUT_BEFORE: Duration = Duration::from_millis(200);

impl Drawn {
    /// Its name in the recording.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.faults.iter().map(|fault| fault.kind.name()).collect();
        names.join(" and ")
    }

    fn may_lose_counts(&self, topology: Topology) -> bool {
        self.faults.iter().any(|fault| fault.kind.may_lose_counts(topology))
    }

    /// Whether a standby is promoted, which is to get one of its own afterwards.
    pub fn promotes(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind.promotes())
    }

    /// Carries it out and undoes it.
    pub async fn inject(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        let journal = &workload.journal;
        let of_servers = self.faults.iter().filter_map(|fault| fault.struck(site));
        let (servers, are_kept): (Vec<_>, Vec<_>) = of_servers.unzip();
        journal.note(What::Fault(FaultBegun {
            name: self.name(),
            servers,
            loses_no_answers: are_kept.into_iter().all(|is_kept| is_kept),
            may_lose_counts: self.may_lose_counts(site.topology),
            saves_no_counts: self.faults.iter().any(|fault| fault.kind.saves_no_counts()),
        }));
        let within = if self.faults.len() == 1 { MET_WITHIN } else { PAIR_MET_WITHIN };
        for fault in &self.faults {
            fault.begin(site, workload).await.with_context(|| fault.kind.name())?;
            if fault.kind.promotes() {
                journal.note(What::Promoted);
            }
            sleep(fault.lasts).await;
            let has_dropped = fault.kind != FaultKind::PowerCut || site.has_dropped();
            if has_dropped && fault.is_met(site, within).await? {
                site.injected.insert(fault.kind);
            }
        }
        for fault in self.faults.iter().rev() {
            fault.undo(site, workload).await.with_context(|| fault.kind.name())?;
        }
        journal.note(What::Undone);
        Ok(())
    }
}

impl Fault {
    fn number(&self, site: &Site) -> usize {
        self.server % site.servers.len()
    }

    /// The server whose answers may be late until it is undone, and whether none of them may be
    /// lost.
    fn struck(&self, site: &Site) -> Option<(String, bool)> {
        let is_kept = match self.kind {
            FaultKind::ServerKill | FaultKind::PowerCut | FaultKind::ClientsReset => false,
            FaultKind::ServerPause | FaultKind::ClientsDelay | FaultKind::ClientsHalfOpen => true,
            _ => return None,
        };
        Some((site.servers.get(self.number(site))?.name.to_string(), is_kept))
    }

    async fn begin(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        let number = self.number(site);
        match self.kind {
            FaultKind::ServerKill => site.server_mut(number)?.kill()?,
            FaultKind::PowerCut => {
                // A command that goes on would write to files that are gone.
                let _no_command = workload.pool.commands.write().await;
                // It has written a commit, which no client may know of.
                self.stop_syncs(site, workload, site.held())?;
                self.is_met(site, MET_WITHIN).await?;
                sleep(HELD_FOR).await;
                site.server_mut(number)?.kill()?;
                site.drop_unsynced()?;
                self.sync_again(site, workload)?;
            }
            FaultKind::ServerPause => site.server(number)?.signal(Signal::STOP)?,
            FaultKind::RollingRestart => self.restart_all(site, workload).await?,
            FaultKind::ServerClock => {
                let step = if self.strikes_all { CLOCK_STEP } else { -CLOCK_STEP };
                site.server(number)?.preload.set(step)?;
            }
            FaultKind::DiskSlow => site.server(number)?.preload.set(millis(self.delay)?)?,
            FaultKind::DiskFails => self.stop_syncs(site, workload, -1)?,
            FaultKind::DiskHung => self.stop_syncs(site, workload, site.held())?,
            FaultKind::DiskFull => site.full = Some(site.disk()?.keep_full()?),
            FaultKind::PrimaryKill | FaultKind::StandbyKill => {
                let databases = site.databases_mut()?;
                databases.kill(self.killed(databases))?;
            }
            FaultKind::PrimaryPause => site.databases()?.primary()?.signal_all(Signal::STOP)?,
            FaultKind::StandbyPause => site.databases()?.standby()?.signal_all(Signal::STOP)?,
            FaultKind::StandbyCut => site.databases()?.link.set(relay::Fault::Silent),
            FaultKind::PromoteKilled | FaultKind::PromotePaused | FaultKind::PromoteCut => {
                self.promote(site).await?;
            }
            _ => self.set_networks(site, self.network_fault()),
        }
        Ok(())
    }

    /// Waits until the fault has affected an operation, and returns whether it has.
    async fn is_met(&self, site: &Site, within: Duration) -> anyhow::Result<bool> {
        let server = site.server(self.number(site))?;
        let is_met = async || {
            let is_met = match self.kind {
                FaultKind::ServerClock
                | FaultKind::DiskSlow
                | FaultKind::DiskFails
                | FaultKind::DiskHung
                | FaultKind::PowerCut => server.preload.was_used(),
                FaultKind::StoreCutAtCommit => server.to_store.iter().any(Relay::has_cut),
                FaultKind::CommandsCutAtCommit => site.to_commands.iter().any(Relay::has_cut),
                _ => true,
            };
            is_met.then_some(())
        };
        Ok(wait_for("something meets it", within, is_met).await.is_ok())
    }

    /// From now on the server's disk does this instead of a sync.
    fn stop_syncs(&self, site: &Site, workload: &Workload, number: i64) -> anyhow::Result<()> {
        site.server(self.number(site))?.preload.set(number)?;
        workload.journal.note(What::Unsynced);
        Ok(())
    }

    fn sync_again(&self, site: &Site, workload: &Workload) -> anyhow::Result<()> {
        workload.journal.note(What::Synced);
        site.server(self.number(site))?.preload.set(0)
    }

    async fn undo(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        let number = self.number(site);
        match self.kind {
            FaultKind::ServerKill | FaultKind::PowerCut => site.start_server(number).await?,
            FaultKind::ServerPause => site.server(number)?.signal(Signal::CONT)?,
            FaultKind::ServerClock | FaultKind::DiskSlow => site.server(number)?.preload.set(0)?,
            FaultKind::DiskFails | FaultKind::DiskHung => self.sync_again(site, workload)?,
            FaultKind::DiskFull => site.full = None,
            FaultKind::PrimaryKill | FaultKind::StandbyKill => {
                let databases = site.databases_mut()?;
                databases.restart(self.killed(databases)).await?;
            }
            FaultKind::PrimaryPause => site.databases()?.primary()?.signal_all(Signal::CONT)?,
            FaultKind::StandbyPause => site.databases()?.standby()?.signal_all(Signal::CONT)?,
            FaultKind::StandbyCut => site.databases()?.link.set(relay::Fault::None),
            FaultKind::PromoteKilled | FaultKind::PromotePaused | FaultKind::PromoteCut => {
                if self.kind == FaultKind::PromotePaused {
                    // It believes that it is the primary.
                    site.databases()?.third()?.signal_all(Signal::CONT)?;
                }
                if self.cuts_off_others() {
                    sleep(LOST_FOR).await;
                    self.cut_off_others(
                        site,
                        site.databases()?.third_number(),
                        relay::Fault::None,
                    )?;
                }
            }
            FaultKind::RollingRestart => {}
            _ => self.set_networks(site, relay::Fault::None),
        }
        Ok(())
    }

    /// Stops and starts all servers, one after the other. Each answers what it was asked.
    async fn restart_all(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        for number in 0..site.servers.len() {
            let to_store = |site: &Site, fault| {
                site.server(number)
                    .map(|server| server.to_store.iter().for_each(|to| to.set(fault)))
            };
            to_store(site, relay::Fault::Delay(STORE_DELAY))?;
            workload.pool.avoid(Some(number));
            sleep(OUT_BEFORE).await;
            site.server_mut(number)?.stop()?;
            to_store(site, relay::Fault::None)?;
            site.start_server(number).await?;
            site.server(number)?.ready().await?;
            workload.pool.avoid(None);
            sleep(self.lasts).await;
        }
        Ok(())
    }

    async fn promote(&self, site: &mut Site) -> anyhow::Result<()> {
        let databases = site.databases_mut()?;
        match self.kind {
            FaultKind::PromotePaused => databases.primary()?.signal_all(Signal::STOP)?,
            FaultKind::PromoteCut => databases.link.set(relay::Fault::Silent),
            _ => databases.kill(databases.primary)?,
        }
        if self.kind == FaultKind::PromoteCut {
            self.cut_off_others(site, site.databases()?.primary, relay::Fault::Reset)?;
        }
        if self.kind != FaultKind::PromotePaused {
            sleep(self.lasts).await;
        }
        site.databases_mut()?.promote().await?;
        if self.kind == FaultKind::PromoteCut {
            site.databases()?.link.set(relay::Fault::None);
            site.databases()?.link.retarget(1);
        }
        if self.cuts_off_others() {
            self.cut_off_others(site, site.databases()?.third_number(), relay::Fault::Reset)?;
        }
        Ok(())
    }

    fn killed(&self, databases: &Databases) -> usize {
        if self.kind == FaultKind::PrimaryKill { databases.primary } else { databases.standby }
    }

    fn cuts_off_others(&self) -> bool {
        self.strikes_all || self.kind == FaultKind::PromoteCut
    }

    /// All servers but one lose this node, which may still answer that one.
    fn cut_off_others(&self, site: &Site, node: usize, fault: relay::Fault) -> anyhow::Result<()> {
        let (stays, primary_port) = (self.number(site), site.databases()?.primary_port());
        for (number, server) in site.servers.iter().enumerate() {
            let is_struck = number != stays;
            match (&server.to_store[..], server.to_store.get(node)) {
                // An address that moves to the primary: for one server it moves late.
                ([address], _) if is_struck || fault == relay::Fault::None => {
                    address.retarget(primary_port);
                }
                ([_, _, ..], Some(relay)) if is_struck => relay.set(fault),
                _ => {}
            }
        }
        Ok(())
    }

    fn network_fault(&self) -> relay::Fault {
        use relay::Fault::{CutAtCommit, Delay, NoAnswers, Reset, Silent};
        match self.kind {
            FaultKind::ClientsDelay => Delay(self.delay),
            FaultKind::StoreDelay => Delay(self.delay / 4),
            FaultKind::ClientsHalfOpen | FaultKind::StoreHalfOpen => NoAnswers,
            FaultKind::StoreCutAtCommit | FaultKind::CommandsCutAtCommit => CutAtCommit,
            FaultKind::ClientsReset | FaultKind::StoreReset => Reset,
            _ => Silent,
        }
    }

    /// The networks that the fault strikes do this from now on.
    fn set_networks(&self, site: &Site, fault: relay::Fault) {
        use FaultKind::{ClientsDelay, ClientsHalfOpen, ClientsReset};
        type Relays = fn(&Server) -> Vec<&Relay>;
        let relays: Relays = match self.kind {
            FaultKind::CommandsCut | FaultKind::CommandsCutAtCommit => {
                return site.to_commands.iter().for_each(|relay| relay.set(fault));
            }
            ClientsReset | ClientsDelay | ClientsHalfOpen => |server| vec![&server.to_clients],
            _ => |server| server.to_store.iter().collect(),
        };
        let is_of_clients = matches!(self.kind, ClientsReset | ClientsDelay | ClientsHalfOpen);
        let number = self.number(site);
        let struck = site
            .servers
            .iter()
            .enumerate()
            .filter(|(other, _)| *other == number || (self.strikes_all && !is_of_clients));
        struck.flat_map(|(_, server)| relays(server)).for_each(|relay| relay.set(fault));
    }
}

fn millis(time: Duration) -> anyhow::Result<i64> {
    Ok(i64::try_from(time.as_millis())?)
}
