//! Suspends a server while it counts requests: other servers must still be able to count.

use crate::orders::setup::{OnPrimary, READY_WITHIN};
use crate::scenario::Tools;
use futures::future::join_all;
use std::time::{Duration, Instant};
use testbed::{Report, Signal};

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let setup = OnPrimary::start(tools, 10, 2).await?;
    let (key, [one, other]) = (&setup.key, &setup.replicas[..]) else {
        anyhow::bail!("two replicas")
    };
    for _ in 0..5 {
        let until = Instant::now() + Duration::from_millis(500);
        let load = (0..16).map(|_| async {
            while Instant::now() < until {
                // Gives up a request that gets no answer because the server has been suspended.
                let _ = tokio::time::timeout_at(until.into(), one.list(key)).await;
            }
        });
        let suspend = async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            one.server.signal(Signal::STOP)
        };
        let (_, suspended) = tokio::join!(join_all(load), suspend);
        suspended?;
        let began = Instant::now();
        // This request is counted in the row of the key's account. The suspended server was
        // updating the same row.
        other.list(key).await?;
        report.time("a list next to a suspended server", began.elapsed(), Duration::from_secs(1));
        one.server.signal(Signal::CONT)?;
        one.ready(READY_WITHIN).await?;
    }
    Ok(())
}
