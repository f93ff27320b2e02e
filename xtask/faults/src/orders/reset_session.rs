//! A session to a promoted primary is reset within its first second, while no request waits: the
//! next one acknowledges nothing before that second has passed, because another server may still
//! list from the old primary.

use super::setup::{OnPair, expect_agreement};
use crate::replicas::ROLES;
use crate::scenario::Tools;
use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::postgres::DATABASE;
use testbed::{Report, WAIT_TIMEOUT, wait_for};

/// When the first session is reset.
const RESET_AFTER: Duration = Duration::from_millis(300);

/// A lease of another server may last for so long after the first session was opened.
const WAIT: Duration = Duration::from_secs(1);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, primary, standby, link: _link, key, replicas, .. } =
        OnPair::start(tools, 10, 1).await?;
    primary.kill()?;
    standby.promote().await?;
    let (admin, ours) = (standby.admin(DATABASE).await?, "store-orders %");
    let age = "SELECT extract(epoch FROM clock_timestamp() - min(backend_start))::float8
               FROM pg_stat_activity WHERE application_name LIKE $1";
    let opened = async || {
        let asked = Instant::now();
        let age: Option<f64> = admin.query_one(age, &[&ours]).await.ok()?.try_get(0).ok()?;
        asked.checked_sub(Duration::from_secs_f64(age?))
    };
    let opened = wait_for("a session to the new primary", WAIT_TIMEOUT, opened).await?;
    tokio::time::sleep(RESET_AFTER).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name LIKE $1";
    let ended = admin.query(end, &[&ours]).await?.len();
    let all = ended == ROLES.len();
    report.expect_unless_stalled(all, || {
        format!("{ended} connections of the first session were ended")
    });
    let replica = replicas.first().context("there is a replica")?;
    // Without a session requests are answered 503.
    let cancel = async || match replica.cancel(&key, 1).await {
        Ok(503) => None,
        answered => Some((answered, opened.elapsed())),
    };
    let list = async || replica.list(&key).await.ok().map(|_| opened.elapsed());
    let cancelled = wait_for("a cancellation is carried out", 5 * WAIT, cancel);
    let listed = wait_for("a list is answered", 5 * WAIT, list);
    let ((status, cancelled), listed) = futures::try_join!(cancelled, listed)?;
    let status = status?;
    let text = || format!("the cancellation was answered {status}");
    // One that was answered 503 may have been carried out.
    report.expect(matches!(status, 204 | 404), text);
    report.expect_unless_stalled(status == 204, text);
    for (what, after) in [("cancellation", cancelled), ("list", listed)] {
        report.expect(after >= WAIT, || format!("a {what} was answered after {after:.2?}"));
        report.figure(format!("first {what} {after:.2?} after the first session was opened"));
    }
    expect_agreement(&replicas, &key, report).await
}
