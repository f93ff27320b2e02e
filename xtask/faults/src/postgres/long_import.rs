//! Long imports while servers run. Imported orders are cancelled during the import and must stay
//! cancelled. No request may be refused. A second import with `--skip-existing` must complete a
//! killed import.

use super::setup::{OnPrimary, READY_WITHIN, expect_agreement};
use crate::replicas::{Replica, begin_import};
use crate::scenario::Tools;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, wait_for};
use tokio::time::sleep;

const ORDERS: i64 = 2_000;

/// The ids of the import that completes. The import has many steps, so that its orders can be
/// cancelled before the import completes.
const IMPORTED: RangeInclusive<i64> = 100_001..=200_000;
/// The ids of the import that is killed. The import is long enough to be killed before it
/// completes.
const KILLED: RangeInclusive<i64> = 300_001..=400_000;

/// The time limit of an import while two or three servers run.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary: _primary, store, key, mut replicas } =
        OnPrimary::start(tools, ORDERS, 2).await?;
    let operator = store.operator(&store.url);
    let mut import = begin_import(&operator, IMPORTED).await?;
    let (mut observed, began) = (Observations::default(), Instant::now());
    while import.try_wait()?.is_none() {
        ensure!(began.elapsed() < 2 * IMPORT_TIMEOUT, "the import does not end");
        if replicas.len() < 3 && observed.cancelled.len() > 2 {
            let started = store.replica("started-meanwhile", &store.url, &[]).await?;
            started.ready(READY_WITHIN).await?;
            replicas.push(started);
        }
        observed.list_and_cancel(&replicas, &key).await?;
    }
    report.time("an import of 100,000 orders", began.elapsed(), IMPORT_TIMEOUT);
    report.time("a request during the import", observed.longest, REQUEST_TIMEOUT);
    report.expect_unless_stalled(replicas.len() == 3, || {
        "no server was started during the import".to_string()
    });
    report.expect(observed.problems.is_empty(), || observed.problems.join("; "));
    report.figure(format!("{} orders of it cancelled meanwhile", observed.cancelled.len()));
    let expected = IMPORTED.count() - observed.cancelled.len();
    for replica in &replicas {
        let listed = list_ids(replica, &key, IMPORTED).await?.len();
        report.expect(listed == expected, || format!("{listed} of {expected} orders are listed"));
    }

    let mut import = begin_import(&operator, KILLED).await?;
    let first = replicas.first().context("there are replicas")?;
    let has_begun = async || match list_ids(first, &key, KILLED).await {
        Ok(listed) if listed.is_empty() => None,
        listed => Some(listed),
    };
    wait_for("a part of the import is listed", IMPORT_TIMEOUT, has_begun).await??;
    import.kill().await?;
    let stored = list_ids(first, &key, KILLED).await?.len();
    report
        .expect_unless_stalled(stored < KILLED.count(), || "the import was not killed".to_string());
    report.figure(format!("{stored} orders stored by a killed import"));
    store.run(&["check"]).await?;
    let finish = |operator: &DataDir| {
        let rows: String = KILLED.map(|id| format!("{id},7,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        operator.run_with_input(&["orders", "import", "-", "--skip-existing"], csv.as_bytes())
    };
    store.operate(finish).await?;
    let listed = list_ids(first, &key, KILLED).await?.len();
    report.expect(listed == KILLED.count(), || format!("{listed} orders are listed at the end"));
    expect_agreement(&replicas, &key, report).await
}

#[derive(Default)]
struct Observations {
    cancelled: Vec<i64>,
    longest: Duration,
    problems: Vec<String>,
}

impl Observations {
    /// Lists the orders at each replica, and cancels one imported order at the next replica. Later
    /// lists must not contain a cancelled order.
    async fn list_and_cancel(&mut self, replicas: &[Replica], key: &Key) -> anyhow::Result<()> {
        for (number, replica) in replicas.iter().enumerate() {
            let sent = Instant::now();
            let listed = replica.list(key).await?;
            self.longest = self.longest.max(sent.elapsed());
            // The measured time excludes parsing, because parsing 100,000 orders takes as long as
            // the request.
            let listed = ids(&listed, IMPORTED)?;
            if let Some(id) = self.cancelled.iter().find(|id| listed.contains(id)) {
                self.problems.push(format!("order {id} is listed after its 204"));
            }
            let Some(last) = listed.last() else { continue };
            let next = replicas.iter().cycle().nth(number + 1).context("there are replicas")?;
            for expected in [204, 404] {
                let sent = Instant::now();
                let status = next.cancel(key, *last).await?;
                self.longest = self.longest.max(sent.elapsed());
                if status != expected {
                    self.problems.push(format!("order {last}: {status} instead of {expected}"));
                }
            }
            self.cancelled.push(*last);
        }
        sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

async fn list_ids(
    replica: &Replica,
    key: &Key,
    range: RangeInclusive<i64>,
) -> anyhow::Result<Vec<i64>> {
    ids(&replica.list(key).await?, range)
}

fn ids(list: &[u8], range: RangeInclusive<i64>) -> anyhow::Result<Vec<i64>> {
    let listed: Vec<Value> = serde_json::from_slice(list)?;
    let listed = listed.iter().filter_map(|order| order.get("id")?.as_i64());
    Ok(listed.filter(|id| range.contains(id)).collect())
}
