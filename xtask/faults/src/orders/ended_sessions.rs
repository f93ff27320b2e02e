//! A session of an idle server ends, and another begins: each server has its connections
//! and no more, also of the sessions that ended.

use super::setup::{OnPrimary, replicas};
use crate::replicas::{ROLES, wrong_connections};
use std::time::{Duration, Instant};
use testbed::postgres::{DATABASE, Installed};
use testbed::{Program, Report};

const SERVERS: usize = 2;

const ENDED_AFTER: Duration = Duration::from_millis(500);

/// How soon the connections of the ended ones are closed.
const CLOSED_WITHIN: Duration = Duration::from_secs(3);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, .. } =
        OnPrimary::start(installed, program, 10).await?;
    let _replicas = replicas(&store, SERVERS).await?;
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
        let wrong = wrong_connections(&primary, SERVERS, 2 * CLOSED_WITHIN).await?;
        report.expect(wrong.is_none(), || format!("after the end of the {role}: {wrong:?}"));
        report.time(
            format!("connections after the end of the {role}"),
            began.elapsed(),
            CLOSED_WITHIN,
        );
    }
    Ok(())
}
