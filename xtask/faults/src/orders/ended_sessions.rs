//! A session of an idle server ends, and another begins: each server has its connections
//! and no more, also of the sessions that ended.

use super::setup::OnPrimary;
use crate::replicas::{ROLES, wrong_connections};
use crate::scenario::Tools;
use std::time::{Duration, Instant};
use testbed::Report;
use testbed::postgres::DATABASE;

const SERVERS: usize = 2;

const ENDED_AFTER: Duration = Duration::from_millis(500);

/// How soon the connections of the ended ones are closed.
const CLOSED_WITHIN: Duration = Duration::from_secs(3);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let on = OnPrimary::start(tools, 10, SERVERS).await?;
    let primary = &on.primary;
    let admin = primary.admin(DATABASE).await?;
    // All sessions end, each time by the end of another one of their connections.
    for role in ROLES {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'store-orders ' || $1";
        let ended = admin.query(end, &[&role]).await?.len();
        report.expect(ended == SERVERS, || format!("{ended} connections of the {role}"));
        // The server ends them when it comes to it.
        tokio::time::sleep(ENDED_AFTER).await;
        let began = Instant::now();
        let wrong = wrong_connections(primary, SERVERS, 2 * CLOSED_WITHIN).await?;
        report.expect(wrong.is_none(), || format!("after the end of the {role}: {wrong:?}"));
        report.time(
            format!("connections after the end of the {role}"),
            began.elapsed(),
            CLOSED_WITHIN,
        );
    }
    Ok(())
}
