//! A network that delays, falls silent, swallows answers, resets, and cuts connections when
//! a COMMIT is answered: every request is answered in time, and no order is cancelled twice.

use super::setup::{OnPrimary, expect_agreement};
use crate::replicas::bases;
use crate::traffic::{LOAD, Traffic};
use std::time::Duration;
use testbed::postgres::{Installed, Postgres};
use testbed::relay::{Fault, Relay};
use testbed::{Program, Report};

const ORDERS: i64 = 8_000;

const FAULTS: [(Fault, Duration); 6] = [
    (Fault::Delay(Duration::from_millis(50)), Duration::from_secs(2)),
    (Fault::Silent, Duration::from_secs(3)),
    (Fault::NoAnswers, Duration::from_secs(3)),
    (Fault::Reset, Duration::from_secs(1)),
    (Fault::CutAtCommit, Duration::from_secs(2)),
    (Fault::Silent, Duration::from_secs(7)),
];

/// How long the network works between two faults.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key } =
        OnPrimary::start(installed, program, ORDERS).await?;
    let relay = Relay::to(primary.port).await?;
    // One server has a good network, one a bad one.
    let replicas = [
        store.replica("good", &store.url, &[]).await?,
        store.replica("bad", &Postgres::url_at(relay.port), &[]).await?,
    ];
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    for (fault, lasts) in FAULTS {
        tokio::time::sleep(PAUSE).await;
        traffic.fault(format!("{fault:?}"));
        relay.set(fault);
        tokio::time::sleep(lasts).await;
        relay.set(Fault::None);
        traffic.undone();
    }
    tokio::time::sleep(PAUSE).await;
    let seen = traffic.stop().await?;
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}
