//! The first host of the URL is suspended, the second is the primary: a new server starts
//! within the limits of our own attempts. Control: the client's own list of hosts, which has
//! no such limit, hangs on the first.

use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::postgres::{Cluster, DATABASE, Installed, Pair, USER};
use testbed::{Program, Report, Signal};
use tokio_postgres::NoTls;

use crate::replicas::{StoreUnderTest, url_of};

/// Half a second for the first host, and time for a process to start.
const STARTED_WITHIN: Duration = Duration::from_secs(3);

/// As long as a request may wait.
const TOO_LONG: Duration = Duration::from_secs(5);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let Pair { primary, standby, link: _link } = cluster.pair().await?;
    let ports = [primary.port, standby.port];
    let store = StoreUnderTest::create(program, &url_of(ports), 10).await?;
    primary.signal_all(Signal::STOP)?;
    standby.promote().await?;
    let began = Instant::now();
    let replica = store.replica("new", &store.url, &[]).await?;
    replica.ready(STARTED_WITHIN).await.context("beside a suspended host")?;
    report.time("a server started and ready", began.elapsed(), STARTED_WITHIN);
    let [first, second] = ports;
    let hosts =
        format!("host=127.0.0.1,127.0.0.1 port={first},{second} user={USER} dbname={DATABASE}");
    let connected = tokio::time::timeout(TOO_LONG, tokio_postgres::connect(&hosts, NoTls)).await;
    report.expect(connected.is_err(), || "the control came through: nothing was shown".to_string());
    primary.signal_all(Signal::CONT)
}
