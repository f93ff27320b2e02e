//! Long imports next to servers: each step is listed at once and can be cancelled for good, no
//! request is refused, a server that starts meanwhile serves, and what a killed command leaves is
//! sound and can be finished.

use super::setup::{OnPrimary, READY_WITHIN, expect_agreement};
use crate::replicas::{Replica, begin_import};
use crate::scenario::Tools;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, Report, wait_for};
use tokio::time::sleep;

/// The orders before, the first of which are cancelled meanwhile.
const ORDERS: i64 = 2_000;

/// Many steps each.
const IMPORTED: RangeInclusive<i64> = 100_001..=200_000;
const KILLED: RangeInclusive<i64> = 300_001..=400_000;

/// How long an import may take next to three servers.
const IMPORT: Duration = Duration::from_secs(60);

/// How long any request may wait meanwhile.
const LONGEST: Duration = Duration::from_secs(1);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary: _primary, store, key, mut replicas } =
        OnPrimary::start(tools, ORDERS, 2).await?;
    let operator = store.operator(&store.url);
    let mut import = begin_import(&operator, IMPORTED).await?;
    let (mut watched, began) = (Watched::default(), Instant::now());
    while import.try_wait()?.is_none() {
        ensure!(began.elapsed() < 2 * IMPORT, "the import does not end");
        if replicas.len() < 3 && watched.cancelled.len() > 2 {
            let started = store.replica("started-meanwhile", &store.url, &[]).await?;
            started.ready(READY_WITHIN).await?;
            replicas.push(started);
        }
        watched.round(&replicas, &key).await?;
    }
    report.time("an import of 100,000 orders", began.elapsed(), IMPORT);
    report.time("a request during the import", watched.longest, LONGEST);
    report.expect_unless_stalled(replicas.len() == 3, || {
        "no server was started during the import".to_string()
    });
    report.expect(watched.problems.is_empty(), || watched.problems.join("; "));
    report.figure(format!("{} orders of it cancelled meanwhile", watched.cancelled.len()));
    let expected = IMPORTED.count() - watched.cancelled.len();
    for replica in &replicas {
        let listed = imported(replica, &key, IMPORTED).await?.len();
        report.expect(listed == expected, || format!("{listed} of {expected} are listed"));
    }

    let mut import = begin_import(&operator, KILLED).await?;
    let first = replicas.first().context("there are replicas")?;
    let begun = async || match imported(first, &key, KILLED).await {
        Ok(listed) if listed.is_empty() => None,
        listed => Some(listed),
    };
    wait_for("a part of the import is listed", IMPORT, begun).await??;
    import.kill().await?;
    let left = imported(first, &key, KILLED).await?.len();
    report.expect_unless_stalled(left < KILLED.count(), || "the import was not killed".to_string());
    report.figure(format!("{left} orders stored by a killed import"));
    store.run(&["check"]).await?;
    let finish = |operator: &DataDir| {
        let rows: String = KILLED.map(|id| format!("{id},7,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        operator.run_with_input(&["orders", "import", "-", "--skip-existing"], csv.as_bytes())
    };
    store.operate(finish).await?;
    let listed = imported(first, &key, KILLED).await?.len();
    report.expect(listed == KILLED.count(), || format!("{listed} are listed at the end"));
    expect_agreement(&replicas, &key, report).await
}

/// What clients saw during an import.
#[derive(Default)]
struct Watched {
    /// Orders of the import.
    cancelled: Vec<i64>,
    longest: Duration,
    problems: Vec<String>,
}

impl Watched {
    /// Each replica lists, and the last order of the import that one lists is cancelled at the
    /// next.
    async fn round(&mut self, replicas: &[Replica], key: &Key) -> anyhow::Result<()> {
        for (number, replica) in replicas.iter().enumerate() {
            let sent = Instant::now();
            let listed = replica.list(key).await?;
            self.longest = self.longest.max(sent.elapsed());
            // Not what this program takes to read 100,000 orders, which is as long again.
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

/// The ids of this range that a replica lists.
async fn imported(
    replica: &Replica,
    key: &Key,
    range: RangeInclusive<i64>,
) -> anyhow::Result<Vec<i64>> {
    ids(&replica.list(key).await?, range)
}

/// The ids of this range in a list.
fn ids(list: &[u8], range: RangeInclusive<i64>) -> anyhow::Result<Vec<i64>> {
    let listed: Vec<Value> = serde_json::from_slice(list)?;
    let listed = listed.iter().filter_map(|order| order.get("id")?.as_i64());
    Ok(listed.filter(|id| range.contains(id)).collect())
}
