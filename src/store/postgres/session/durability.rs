//! Checks the durability of commits. Refuses a primary whose standbys do not confirm commits. Warns
//! if a failover or a power cut could lose acknowledged changes.

mod sync_standbys;

use super::replica::Replica;
use crate::store::postgres::error::{read_error, unreachable_because};
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::STANDBY_LIMIT;
use crate::store::{Standbys, StoreError};
use slog::{Logger, info, warn};
use sync_standbys::SyncStandbys;
use tokio_postgres::Client;

/// The durability of a primary's commits. The type's default value stands for an unreachable
/// primary.
#[derive(Debug, Default)]
pub struct Durability {
    settings: Settings,
    /// The names of the synchronous standbys that are streaming.
    streaming: Vec<String>,
    /// The number of standbys in `streaming`, plus the standbys whose state PostgreSQL hides from
    /// the connection's role.
    present: usize,
    /// True if a server's commit has waited for standbys for longer than [`STANDBY_LIMIT`]. Only
    /// [`Durability::read_for_opening`] sets this to true.
    is_stuck: bool,
}

/// The settings of PostgreSQL that decide whether a failover or a power cut loses acknowledged
/// changes. An operator can change them at any time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    synchronous_standby_names: String,
    writes_to_disk: bool,
}

impl Durability {
    /// Reads the durability of commits, and checks whether a commit is stuck. An open session needs
    /// no such check, because hanging heartbeats end the session.
    ///
    /// The check ignores the operator's commands, because their long statements could look stuck.
    /// PostgreSQL shows when a statement began, not when its wait began.
    pub async fn read_for_opening(client: &Client) -> Result<Durability, StoreError> {
        let query = format!(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
                            WHERE wait_event = 'SyncRep' AND usename = current_user
                              AND application_name LIKE 'store-orders %'
                              AND application_name <> 'store-orders command'
                              AND state_change < clock_timestamp() - interval '{} ms')",
            STANDBY_LIMIT.as_millis()
        );
        let is_stuck = async {
            let row = client.query_one(&query, &[]).await.map_err(read_error)?;
            value(&row, 0)
        };
        let (durability, is_stuck) = tokio::try_join!(Durability::read(client), is_stuck)?;
        Ok(Durability { is_stuck, ..durability })
    }

    /// Reads the settings that decide whether the primary's commits are durable. Also reads which
    /// synchronous standbys stream.
    ///
    /// Without `pg_read_all_stats`, a role cannot see whether a standby is synchronous. `present`
    /// then also counts every standby whose state is hidden.
    pub async fn read(client: &Client) -> Result<Durability, StoreError> {
        let query = "SELECT current_setting('synchronous_standby_names'),
                    current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
                    ARRAY(SELECT application_name FROM pg_stat_replication
                          WHERE sync_state IN ('sync', 'quorum')),
                    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL)";
        let row = client.query_one(query, &[]).await.map_err(read_error)?;
        let settings = Settings {
            synchronous_standby_names: value(&row, 0)?,
            writes_to_disk: value(&row, 1)?,
        };
        let (streaming, hidden): (Vec<String>, i64) = (value(&row, 2)?, value(&row, 3)?);
        let present = streaming.len() + usize::try_from(hidden).unwrap_or(0);
        Ok(Durability { settings, streaming, present, is_stuck: false })
    }

    /// Returns how many standbys must confirm each commit, and how many can. The second number is 0
    /// if a commit is stuck although enough standbys are present.
    pub fn standbys(&self) -> Standbys {
        let Some(SyncStandbys { needed, .. }) = self.settings.standbys() else {
            return Standbys::default();
        };
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let confirming = if self.is_stuck && self.present >= needed { 0 } else { self.present };
        Standbys { required: number(needed), confirming: number(confirming) }
    }

    /// Fails if commits would hang: too few synchronous standbys stream, or the standbys confirm no
    /// commits.
    pub fn require_standbys(&self) -> Result<(), StoreError> {
        let Some(standbys) = self.settings.standbys() else { return Ok(()) };
        let needed = standbys.needed;
        if self.present < needed {
            return Err(unreachable_because(format!(
                "{needed} of its synchronous standbys must confirm each commit, and {} stream; \
                 away: {}",
                self.streaming.len(),
                standbys.without(&self.streaming).join(", ")
            )));
        }
        if self.is_stuck {
            return Err(unreachable_because(format!(
                "its synchronous standbys confirm no commit: {}",
                standbys.names.join(", ")
            )));
        }
        Ok(())
    }

    /// Records the standbys for the metrics. Warns about unsafe settings at the first call, and
    /// after the settings have changed. Warns again on a new primary, because the failover may have
    /// lost changes.
    pub fn record(self, is_new_primary: bool, replica: &Replica, log: &Logger) {
        replica.set_standbys(self.standbys());
        let before = replica.replace_settings(self.settings.clone());
        let is_changed = before.as_ref() != Some(&self.settings);
        if is_changed || is_new_primary {
            self.settings.log(before.is_some() && is_changed, log);
        }
    }
}

impl Settings {
    /// Returns the synchronous standbys, or `None` if no standby must confirm commits.
    fn standbys(&self) -> Option<SyncStandbys> {
        SyncStandbys::parse(&self.synchronous_standby_names)
    }

    fn log(&self, have_changed: bool, log: &Logger) {
        let names = &self.synchronous_standby_names;
        match self.standbys() {
            None => warn!(log, "no synchronous standby confirms commits";
                "effect" => "a failover can lose acknowledged cancellations, and a primary that \
                             was replaced is not noticed",
                "fix" => "set synchronous_standby_names on the primary"),
            Some(parsed) if !parsed.needs_all() => {
                warn!(log, "not every synchronous standby confirms commits";
                    "synchronous_standby_names" => names,
                    "effect" => "a primary that was replaced can still confirm commits with \
                                 another standby: orders can be cancelled twice",
                    "fix" => "name as many standbys as must confirm, such as ANY 2 (s1, s2), or \
                              stop the old primary before a standby is promoted");
            }
            Some(_) if have_changed => info!(log, "every synchronous standby confirms commits";
                "synchronous_standby_names" => names),
            Some(_) => {}
        }
        if !self.writes_to_disk {
            warn!(log, "the database does not write commits to its disk";
                "effect" => "a power cut can lose acknowledged cancellations or the whole store",
                "fix" => "set fsync and full_page_writes to on");
        }
    }
}
