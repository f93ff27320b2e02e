//! Checks the durability of commits: warns at the start if a failover could lose acknowledged
//! changes, and refuses a primary whose standbys do not confirm commits.

mod sync_standbys;

use crate::store::postgres::error::{read_error, unreachable_because};
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::STANDBY_LIMIT;
use crate::store::{Standbys, StoreError};
use slog::{Logger, warn};
use sync_standbys::SyncStandbys;
use tokio_postgres::Client;

/// Refuses a primary on which each commit would hang and block a connection: its synchronous
/// standbys are away, or a commit of a server has waited for them for longer than
/// [`STANDBY_LIMIT`]. Stores the standbys in `state`.
///
/// Commits of commands and other programs do not count: PostgreSQL shows when a statement began,
/// but not when its wait for standbys began, and their statements may run for long before they
/// wait. Without `pg_read_all_stats`, a role sees the number of standbys, but not their names or
/// states.
pub async fn require_standbys(client: &Client, state: &mut Standbys) -> Result<(), StoreError> {
    let query = format!(
        "SELECT current_setting('synchronous_standby_names'),
               ARRAY(SELECT application_name FROM pg_stat_replication
                     WHERE sync_state IN ('sync', 'quorum')),
               (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL),
               EXISTS (SELECT FROM pg_stat_activity
                       WHERE wait_event = 'SyncRep' AND usename = current_user
                         AND application_name LIKE 'store-orders %'
                         AND application_name <> 'store-orders command'
                         AND state_change < clock_timestamp() - interval '{} ms')",
        STANDBY_LIMIT.as_millis()
    );
    let row = client.query_one(&query, &[]).await.map_err(read_error)?;
    let Some(standbys) = SyncStandbys::parse(value(&row, 0)?) else { return Ok(()) };
    let (streaming, hidden): (Vec<String>, i64) = (value(&row, 1)?, value(&row, 2)?);
    let SyncStandbys { needed, .. } = standbys;
    let present = streaming.len() + usize::try_from(hidden).unwrap_or(0);
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    *state = Standbys { required: number(needed), confirming: number(present) };
    if present < needed {
        return Err(unreachable_because(format!(
            "{needed} of its synchronous standbys must confirm each commit, and {} stream; away: {}",
            streaming.len(),
            standbys.without(&streaming).join(", ")
        )));
    }
    if value(&row, 3)? {
        state.confirming = 0;
        return Err(unreachable_because(format!(
            "its synchronous standbys confirm no commit: {}",
            standbys.names.join(", ")
        )));
    }
    Ok(())
}

/// Warns of settings with which a failover or a power cut can lose acknowledged changes.
pub async fn warn_if_commits_can_be_lost(client: &Client, log: &Logger) {
    let query = "SELECT current_setting('synchronous_standby_names'),
                        current_setting('fsync') = 'on',
                        current_setting('full_page_writes') = 'on'";
    let settings = client.query_one(query, &[]).await.and_then(|row| {
        Ok((row.try_get::<_, String>(0)?, row.try_get::<_, bool>(1)?, row.try_get::<_, bool>(2)?))
    });
    let Ok((standbys, has_fsync, has_full_pages)) = settings else {
        return warn!(log, "the store's durability is not known");
    };
    match SyncStandbys::parse(&standbys) {
        None => warn!(log, "no synchronous standby confirms commits";
            "effect" => "a failover can lose acknowledged cancellations, and a primary that was \
                         replaced is not noticed",
            "fix" => "set synchronous_standby_names on the primary"),
        Some(parsed) if !parsed.needs_all() => {
            warn!(log, "not every synchronous standby confirms commits";
                "synchronous_standby_names" => standbys,
                "effect" => "a primary that was replaced can still confirm commits with another \
                             standby: orders can be cancelled twice",
                "fix" => "name as many standbys as must confirm, such as ANY 2 (s1, s2), or stop \
                          the old primary before a standby is promoted");
        }
        Some(_) => {}
    }
    if !has_fsync || !has_full_pages {
        warn!(log, "the database does not write commits to its disk";
            "effect" => "a power cut can lose acknowledged cancellations or the whole store",
            "fix" => "set fsync and full_page_writes to on");
    }
}
