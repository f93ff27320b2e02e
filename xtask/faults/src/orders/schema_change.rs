//! The schema is changed while servers run: one step that they survive, and one that demands
//! a newer program, after which they are not ready and no new one starts.

use super::setup::{OnPrimary, expect_agreement};
use crate::scenario::Tools;
use std::time::{Duration, Instant};
use store_orders::store::postgres::schema::{MIGRATIONS, Migration, STORE, Schema, migrate};
use testbed::Report;
use testbed::postgres::DATABASE;

/// This program goes on after it.
const SURVIVED: Migration = Migration {
    what: "a column that this program does not know",
    sql: "ALTER TABLE orders ADD COLUMN note text",
    oldest_program: env!("CARGO_PKG_VERSION"),
};

/// Only a later program may run after it.
const NEEDS_NEWER: Migration = Migration {
    what: "a column that only a newer program knows",
    sql: "ALTER TABLE orders ADD COLUMN other text",
    oldest_program: "99.0.0",
};

/// How soon a running server says so.
const NOTICED_WITHIN: Duration = Duration::from_secs(3);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key, replicas: mut running } =
        OnPrimary::start(tools, 100, 2).await?;
    let mut admin = primary.admin(DATABASE).await?;
    let survived = [MIGRATIONS, &[SURVIVED]].concat();
    migrate(&mut admin, Schema { migrations: &survived, ..STORE }).await?;
    tokio::time::sleep(NOTICED_WITHIN).await;
    for replica in &running {
        let unready = replica.unready_because().await;
        report.expect(unready.is_none(), || format!("a running server: {unready:?}"));
    }
    running.push(store.replica("new", &store.url, &[]).await?);
    expect_agreement(&running, &key, report).await?;

    let needs_newer = [MIGRATIONS, &[SURVIVED, NEEDS_NEWER]].concat();
    migrate(&mut admin, Schema { migrations: &needs_newer, ..STORE }).await?;
    let migrated = Instant::now();
    for replica in &running {
        let mut why = replica.unready_because().await;
        while why.is_none() && migrated.elapsed() < 5 * NOTICED_WITHIN {
            tokio::time::sleep(Duration::from_millis(20)).await;
            why = replica.unready_because().await;
        }
        report.expect(why.as_ref().is_some_and(|why| why.contains("99.0.0")), || {
            format!("a running server says {why:?}")
        });
    }
    report.time("servers unready after the change", migrated.elapsed(), NOTICED_WITHIN);
    let refusal = store.replica("too-old", &store.url, &[]).await.err();
    let refusal = refusal.map(|error| format!("{error:#}")).unwrap_or_default();
    report.expect(refusal.contains("needs store-orders 99.0.0 or newer"), || {
        format!("a new server of the old program: {refusal:?}")
    });
    Ok(())
}
