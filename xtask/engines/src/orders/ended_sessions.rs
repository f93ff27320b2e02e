//! A session of an idle server ends, and another begins: each server has its four connections
//! and no more, also of the sessions that ended.

use super::setup::{OnPrimary, replicas};
use crate::replicas::connections;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use testbed::postgres::{DATABASE, Installed};
use testbed::{Program, Report};

const SERVERS: usize = 2;

/// How often all sessions are ended, each time by the end of another one of their connections.
const ROLES: [&str; 4] = ["writer", "checker", "reader", "background"];

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
    let expected: BTreeMap<_, _> =
        ROLES.into_iter().map(|role| (format!("store-orders {role}"), SERVERS)).collect();
    for role in ROLES {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'store-orders ' || $1";
        let ended = admin.query(end, &[&role]).await?.len();
        report.expect(ended == SERVERS, || format!("{ended} connections of the {role}"));
        // The server ends them when it comes to it.
        tokio::time::sleep(ENDED_AFTER).await;
        let began = Instant::now();
        let mut found = connections(&primary).await?;
        while found != expected && began.elapsed() < 2 * CLOSED_WITHIN {
            tokio::time::sleep(Duration::from_millis(20)).await;
            found = connections(&primary).await?;
        }
        report.expect(found == expected, || format!("after the end of the {role}: {found:?}"));
        report.time(
            format!("four connections after the end of the {role}"),
            began.elapsed(),
            CLOSED_WITHIN,
        );
    }
    Ok(())
}
