//! A transaction holds a lock for longer than cancellations wait: requests that need it are answered
//! 503 in time, everything else goes on, and no session ends.

use super::setup::{OnPrimary, READY_WITHIN, expect_agreement};
use crate::replicas::bases;
use crate::scenario::Tools;
use anyhow::Context;
use history::Traffic;
use std::time::{Duration, Instant};
use testbed::Report;
use testbed::postgres::DATABASE;

const ORDERS: i64 = 10_000;

/// What is locked, how, for how long (longer than a batch of cancellations and the next one), and
/// whether lists are refused: they are counted first.
const LOCKS: [(&str, &str, Duration, bool); 4] = [
    ("versions", "SELECT FROM versions FOR NO KEY UPDATE", Duration::from_secs(12), false),
    // Again and again a batch has one of them.
    ("orders", "SELECT FROM orders WHERE id % 10 = 0 FOR UPDATE", Duration::from_secs(12), false),
    ("all keys", "SELECT FROM keys FOR UPDATE", Duration::from_secs(5), false),
    ("counts", "LOCK TABLE limits_accounts", Duration::from_secs(6), true),
];

/// How soon the use of a key is recorded.
const RECORDED_WITHIN: Duration = Duration::from_secs(3);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key, replicas } =
        OnPrimary::start(tools, ORDERS, 2).await?;
    let (admin, unused) = (primary.admin(DATABASE).await?, store.key("unused").await?);
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS)?;
    for (what, lock, lasts, refuses_lists) in LOCKS {
        let before = traffic.refused_lists();
        admin.batch_execute(&format!("BEGIN; {lock}")).await?;
        if what == "all keys" {
            replicas.first().context("there are replicas")?.list(&unused).await?;
        }
        tokio::time::sleep(lasts).await;
        let refused = traffic.refused_lists() - before;
        report
            .expect((refused > 0) == refuses_lists, || format!("{what}: {refused} lists refused"));
        admin.batch_execute("COMMIT").await?;
        let free = traffic.now();
        tokio::time::sleep(READY_WITHIN).await;
        traffic.expect_recovery(what, free, READY_WITHIN, report);
    }
    traffic.stop().await?.judge(store.operator(&store.url), report).await?;
    for replica in &replicas {
        let log = replica.server.log();
        let lost: Vec<&str> = log.lines().filter(|line| line.contains("store lost")).collect();
        report.expect(lost.is_empty(), || lost.join(" / "));
    }
    let began = Instant::now();
    let used = "SELECT used_at IS NOT NULL FROM keys WHERE id = $1";
    while !admin.query_one(used, &[&unused.id]).await?.try_get::<_, bool>(0)? {
        if began.elapsed() > 2 * RECORDED_WITHIN {
            report.expect(false, || "the use of the locked key is not recorded".to_string());
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.time("the use of the locked key recorded", began.elapsed(), RECORDED_WITHIN);
    expect_agreement(&replicas, &key, report).await
}
