//! A primary is suspended, its standby promoted, and the old one goes on within half a
//! second: it still answers reads. No list shows what it still believes.

use super::setup::expect_agreement;
use crate::replicas::{StoreUnderTest, bases, url_of};
use crate::traffic::{Load, Recording, Traffic};
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, Installed, Pair};
use testbed::relay::{Fault, Relay};
use testbed::{Program, Report, Signal};

const ORDERS: i64 = 4_000;

/// How long the old primary is suspended.
const SUSPENDED: Duration = Duration::from_millis(400);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let Pair { primary: old, standby: new, link: _link } = cluster.pair().await?;
    let url = url_of([old.port, new.port]);
    let store = StoreUnderTest::create(program, &url, ORDERS).await?;
    let key = store.key("clients").await?;
    // One server stays with the old primary for as long as it can; the other is cut off it
    // at the promotion, and cancels on the new one.
    let stays = store.replica("stays", &url, &[]).await?;
    let relay = Relay::to(old.port).await?;
    let moves = store.replica("moves", &url_of([new.port, relay.port]), &[]).await?;
    for replica in [&stays, &moves] {
        replica.ready(Duration::from_secs(5)).await?;
    }
    let replicas = [stays, moves];
    let [of_staying, of_moving] = <[String; 2]>::try_from(bases(&replicas))
        .map_err(|_| anyhow::anyhow!("there are two replicas"))?;
    let lists = Load { writers: 0, listers: 6 };
    let cancels = Load { writers: 6, listers: 0 };
    let recording = Recording::start(ORDERS)?;
    let listing = Traffic::start_in(recording.clone(), vec![of_staying], &key, lists)?;
    let cancelling = Traffic::start_in(recording, vec![of_moving], &key, cancels)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    old.signal_all(Signal::STOP)?;
    new.promote().await?;
    relay.set(Fault::Reset);
    let promoted_in = began.elapsed();
    tokio::time::sleep(SUSPENDED.saturating_sub(promoted_in)).await;
    old.signal_all(Signal::CONT)?;
    let suspended = began.elapsed();
    tokio::time::sleep(Duration::from_secs(6)).await;
    cancelling.stop().await?;
    let seen = listing.stop().await?;
    report.figure(format!(
        "the standby was promoted in {promoted_in:.2?}; the old primary was suspended for \
         {suspended:.2?}"
    ));
    drop(old);
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &url, report).await
}
