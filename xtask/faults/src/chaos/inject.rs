//! Injects the faults of a group one after the other, and undoes them at the end.

use super::databases::Databases;
use super::faults::{Fault, FaultGroup, FaultKind};
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

/// Minimum time for which some promotions keep all servers but one cut off from the old primary.
const CUT_OFF_TIME: Duration = Duration::from_millis(800);

/// Time for which syncs hang before the power is cut, so that commits are written but not synced.
const HUNG_TIME: Duration = Duration::from_millis(300);

/// The maximum time by which a fault without an effect is extended. Some faults affect only the
/// operator's commands, so the time exceeds the pause between commands.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Replaces [`EFFECT_TIMEOUT`] if two faults are injected together, because one may prevent the
/// other's effect.
const PAIR_EFFECT_TIMEOUT: Duration = Duration::from_secs(1);

const CLOCK_STEP_SECONDS: i64 = 100_000;

/// The delay in each direction between a server and PostgreSQL in a rolling restart. Requests then
/// last longer than [`DRAIN_TIME`], so some are unfinished when the server stops.
const STORE_DELAY: Duration = Duration::from_millis(150);

/// In a rolling restart, clients stop sending requests to a server this long before the server is
/// stopped.
const DRAIN_TIME: Duration = Duration::from_millis(200);

impl FaultGroup {
    /// Returns the name of the group in the recorded history.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.faults.iter().map(|fault| fault.kind.name()).collect();
        names.join(" and ")
    }

    fn may_lose_counts(&self, topology: Topology) -> bool {
        self.faults.iter().any(|fault| fault.kind.may_lose_counts(topology))
    }

    /// True if a fault promotes the standby. The new primary then needs a new standby.
    pub fn promotes(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind.promotes())
    }

    /// Begins the faults one after the other, and waits for the duration of each. Undoes all faults
    /// only at the end, so they can overlap.
    pub async fn inject(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        let journal = &workload.journal;
        let affected_servers = self.faults.iter().filter_map(|fault| fault.affected_server(site));
        let (servers, keep_answers): (Vec<_>, Vec<_>) = affected_servers.unzip();
        journal.note(What::Fault(FaultBegun {
            name: self.name(),
            servers,
            loses_no_answers: keep_answers.into_iter().all(|keeps_answers| keeps_answers),
            may_lose_counts: self.may_lose_counts(site.topology),
            saves_no_counts: self.faults.iter().any(|fault| fault.kind.saves_no_counts()),
        }));
        let timeout = if self.faults.len() == 1 { EFFECT_TIMEOUT } else { PAIR_EFFECT_TIMEOUT };
        for fault in &self.faults {
            fault.begin(site, workload).await.with_context(|| fault.kind.name())?;
            if fault.kind.promotes() {
                journal.note(What::Promoted);
            }
            sleep(fault.duration).await;
            let has_dropped = fault.kind != FaultKind::PowerCut || site.has_dropped();
            if has_dropped && fault.wait_for_effect(site, timeout).await? {
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
        self.server_choice % site.servers.len()
    }

    /// Returns the name of the server whose responses the fault affects. The second value is true
    /// if the fault only delays responses, and false if the fault may lose responses.
    fn affected_server(&self, site: &Site) -> Option<(String, bool)> {
        let keeps_answers = match self.kind {
            FaultKind::ServerKill | FaultKind::PowerCut | FaultKind::ClientsReset => false,
            FaultKind::ServerPause | FaultKind::ClientsDelay | FaultKind::ClientsHalfOpen => true,
            _ => return None,
        };
        Some((site.servers.get(self.number(site))?.name.to_string(), keeps_answers))
    }

    async fn begin(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        let number = self.number(site);
        match self.kind {
            FaultKind::ServerKill => site.server_mut(number)?.kill()?,
            FaultKind::PowerCut => {
                // Wait until no command runs, and let none start, because a command could write to
                // the files that `drop_unsynced` replaces.
                let _no_command = workload.pool.commands.write().await;
                // Kill the server after it has written a commit, but before the commit is synced.
                // The rules then check that no client has received a response that depends on this
                // commit.
                self.stop_syncs(site, workload, site.hung_disk_setting())?;
                self.wait_for_effect(site, EFFECT_TIMEOUT).await?;
                sleep(HUNG_TIME).await;
                site.server_mut(number)?.kill()?;
                site.drop_unsynced()?;
                self.sync_again(site, workload)?;
            }
            FaultKind::ServerPause => site.server(number)?.signal(Signal::STOP)?,
            FaultKind::RollingRestart => self.restart_all(site, workload).await?,
            FaultKind::ServerClock => {
                let step = if self.affects_all { CLOCK_STEP_SECONDS } else { -CLOCK_STEP_SECONDS };
                site.server(number)?.preload.set(step)?;
            }
            FaultKind::DiskSlow => site.server(number)?.preload.set(millis(self.delay)?)?,
            FaultKind::DiskFails => self.stop_syncs(site, workload, -1)?,
            FaultKind::DiskHung => self.stop_syncs(site, workload, site.hung_disk_setting())?,
            FaultKind::DiskFull => site.full = Some(site.disk()?.keep_full()?),
            FaultKind::PrimaryKill | FaultKind::StandbyKill => {
                let databases = site.databases_mut()?;
                databases.kill(self.node_to_kill(databases))?;
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

    /// Waits until the fault has affected an operation. Returns false after `timeout`. Returns true
    /// immediately if the effect cannot be observed.
    async fn wait_for_effect(&self, site: &Site, timeout: Duration) -> anyhow::Result<bool> {
        let server = site.server(self.number(site))?;
        let has_effect = async || {
            let has_effect = match self.kind {
                FaultKind::ServerClock
                | FaultKind::DiskSlow
                | FaultKind::DiskFails
                | FaultKind::DiskHung
                | FaultKind::PowerCut => server.preload.was_used(),
                FaultKind::StoreCutAtCommit => server.to_store.iter().any(Relay::has_cut),
                FaultKind::CommandsCutAtCommit => site.to_commands.iter().any(Relay::has_cut),
                _ => true,
            };
            has_effect.then_some(())
        };
        Ok(wait_for("the fault has an effect", timeout, has_effect).await.is_ok())
    }

    /// Makes each sync of the server's disk fail, hang or do nothing. `number` selects the effect
    /// ([`testbed::Preload::disk`]).
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
                databases.restart(self.node_to_kill(databases)).await?;
            }
            FaultKind::PrimaryPause => site.databases()?.primary()?.signal_all(Signal::CONT)?,
            FaultKind::StandbyPause => site.databases()?.standby()?.signal_all(Signal::CONT)?,
            FaultKind::StandbyCut => site.databases()?.link.set(relay::Fault::None),
            FaultKind::PromoteKilled | FaultKind::PromotePaused | FaultKind::PromoteCut => {
                if self.kind == FaultKind::PromotePaused {
                    // The resumed node still considers itself the primary. If a server relies on
                    // the node's answers, the recorded events violate a rule.
                    site.databases()?.third()?.signal_all(Signal::CONT)?;
                }
                if self.cuts_off_others() {
                    sleep(CUT_OFF_TIME).await;
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

    /// Restarts all servers, one after the other. Before a server exits, it must answer the
    /// requests that it has received.
    async fn restart_all(&self, site: &mut Site, workload: &Workload) -> anyhow::Result<()> {
        for number in 0..site.servers.len() {
            let to_store = |site: &Site, fault| {
                site.server(number)
                    .map(|server| server.to_store.iter().for_each(|to| to.set(fault)))
            };
            to_store(site, relay::Fault::Delay(STORE_DELAY))?;
            workload.pool.avoid(Some(number));
            sleep(DRAIN_TIME).await;
            site.server_mut(number)?.stop()?;
            to_store(site, relay::Fault::None)?;
            site.start_server(number).await?;
            site.server(number)?.ready().await?;
            workload.pool.avoid(None);
            sleep(self.duration).await;
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
            sleep(self.duration).await;
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

    fn node_to_kill(&self, databases: &Databases) -> usize {
        if self.kind == FaultKind::PrimaryKill { databases.primary } else { databases.standby }
    }

    fn cuts_off_others(&self) -> bool {
        self.affects_all || self.kind == FaultKind::PromoteCut
    }

    /// Applies `fault` to the connections between `node` and all servers except the server that
    /// `self` selects.
    fn cut_off_others(&self, site: &Site, node: usize, fault: relay::Fault) -> anyhow::Result<()> {
        let not_cut_off = self.number(site);
        for (number, server) in site.servers.iter().enumerate() {
            if number != not_cut_off
                && let Some(relay) = server.to_store.get(node)
            {
                relay.set(fault);
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
        let affected_servers = site
            .servers
            .iter()
            .enumerate()
            .filter(|(other, _)| *other == number || (self.affects_all && !is_of_clients));
        affected_servers.flat_map(|(_, server)| relays(server)).for_each(|relay| relay.set(fault));
    }
}

fn millis(time: Duration) -> anyhow::Result<i64> {
    Ok(i64::try_from(time.as_millis())?)
}
