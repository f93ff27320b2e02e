//! The first host of the URL is a primary that was fenced as read-only, the second is the one
//! that was promoted: servers and commands find it, those that run already too.

use super::setup::{OnPair, expect_agreement, replicas};
use crate::replicas::blocking;
use std::time::{Duration, Instant};
use testbed::postgres::{Installed, Pair, Postgres};
use testbed::{Program, Report};

/// How soon a running server has found the other host.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, pair, store, key } =
        OnPair::start(installed, program, 10).await?;
    let Pair { primary, standby, link: _link } = pair;
    let mut servers = replicas(&store, 1).await?;
    standby.promote().await?;
    // Its commits wait for no standby: it is fenced by this setting alone.
    primary.set("synchronous_standby_names", "").await?;
    let fenced = Instant::now();
    primary.set("default_transaction_read_only", "on").await?;
    let operator = store.operator(&store.url);
    blocking(move || operator.import_pending(11..=12)).await?;
    servers.push(store.replica("new", &store.url, &[]).await?);
    expect_agreement(&servers, &key, report).await?;
    report.time("all servers at the other host", fenced.elapsed(), 2 * FOUND_WITHIN);
    // What is said where there is no other one.
    let operator = store.operator(&Postgres::url_at(primary.port));
    let refusal = blocking(move || operator.import_pending(13..=13)).await.err();
    let refusal = refusal.map(|error| format!("{error:#}")).unwrap_or_default();
    report.expect(refusal.contains("read-only") && !refusal.contains("standby"), || {
        format!("a command at the fenced host alone: {refusal:?}")
    });
    Ok(())
}
