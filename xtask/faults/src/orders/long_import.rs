//! An import of millions of orders that is not committed, and its roll-back: lists and
//! cancellations take no longer than without it, because nothing that they ask walks its rows.

use super::setup::{OnPrimary, expect_agreement};
use crate::scenario::Tools;
use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::Report;
use testbed::postgres::DATABASE;

const ORDERS: i64 = 200;

/// As an import writes them, with a version far above the newest.
const IMPORT: &str = "
    INSERT INTO orders
    SELECT 1000 + n, 7, 1, NULL, false, 'pending', 1000000002, NULL, NULL, NULL
    FROM generate_series(1, 3000000) n";

/// Requests of each kind in each state of the import.
const ROUNDS: usize = 15;

/// What half of them take at most. A walk over the rows takes 1.5 s, without any other load.
const USUALLY_WITHIN: Duration = Duration::from_millis(500);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, key, replicas, .. } =
        OnPrimary::start(tools, ORDERS, 3).await?;
    let (mut next, mut admin) = (1, primary.admin(DATABASE).await?);
    let transaction = admin.transaction().await?;
    let began = Instant::now();
    transaction.batch_execute(IMPORT).await?;
    report.figure(format!("written in {:.1?}", began.elapsed()));
    let mut transaction = Some(transaction);
    for state in ["not committed", "rolled back"] {
        let (mut lists, mut cancellations, mut failed) = (Vec::new(), Vec::new(), 0);
        for replica in replicas.iter().cycle().take(ROUNDS) {
            let sent = Instant::now();
            let status = replica.cancel(&key, next).await?;
            cancellations.push(sent.elapsed());
            let sent = Instant::now();
            let listed = replica.list(&key).await;
            lists.push(sent.elapsed());
            failed += usize::from(status != 204) + usize::from(listed.is_err());
            next += 1;
        }
        for (what, mut times) in [("list", lists), ("cancellation", cancellations)] {
            times.sort_unstable();
            let median = times.get(ROUNDS / 2).copied().context("there are as many")?;
            report.time(format!("a {what} while it is {state}"), median, USUALLY_WITHIN);
        }
        report.expect(failed == 0, || format!("{failed} requests failed while it is {state}"));
        if let Some(transaction) = transaction.take() {
            transaction.rollback().await?;
        }
    }
    expect_agreement(&replicas, &key, report).await
}
