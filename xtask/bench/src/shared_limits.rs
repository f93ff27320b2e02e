//! Requests counted in PostgreSQL, in batches, against a statement for each of them on the same
//! kind of connection.

use crate::machine::Side;
use crate::rounds::{Sample, Turn, go};
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};
use anyhow::ensure;
use futures::future::join_all;
use slog::{Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::config::PostgresUrl;
use store_orders::limits::{Decision, KeyedRequest, Limits};
use store_orders::store::postgres::SILENT_FOR;
use store_orders::store::postgres::{Admission, PostgresStore, migrate};
use store_orders_api::plans::PlanLimits;
use testbed::postgres::{Cluster, DATABASE, Installed};
use tokio::runtime::Runtime;

const UNLIMITED: PlanLimits = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };

/// No clock of ours has a part in the counting.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// Later than a limiter lets a request wait.
const DEADLINE: Duration = Duration::from_secs(5);

/// How many requests wait, and how many times the rate of a statement each is asked for. Alone,
/// an admission may take no longer than the one round trip of its statement.
const WAITING: [(i64, f64); 3] = [(1, 0.9), (64, 2.0), (256, 4.0)];

/// Transaction ids given out, and bytes of the log.
const WRITTEN: &str = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
                              pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";

/// Measures admissions.
pub fn measure(setup: &BenchSetup) -> anyhow::Result<Vec<Row>> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let installed = Installed::find()?;
    let cluster = Cluster::create(&installed)?;
    let server = Side::Served.run(|| runtime.block_on(cluster.primary("primary", &[])))?;
    let (url, log) = (server.url().parse::<PostgresUrl>()?, Logger::root(slog::Discard, o!()));
    migrate(&url)?;
    let store = PostgresStore::open(runtime.handle(), url, false, SILENT_FOR, log.clone())?;
    let limits = store.limits(1, log);
    let client = runtime.block_on(server.admin(DATABASE))?;
    let admission = runtime.block_on(Admission::prepare(&client))?;
    let written = || -> anyhow::Result<(i64, i64)> {
        let row = runtime.block_on(client.query_one(WRITTEN, &[]))?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    };
    let key_id = Arc::from("key_1");
    let mut rows = Vec::new();
    for (waiting, least) in WAITING {
        let batched = async |request: KeyedRequest| {
            let deadline = Instant::now() + DEADLINE;
            let decision = limits.admit(request, &key_id, NOW, deadline).await;
            ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
            Ok(())
        };
        let single = async |request: KeyedRequest| {
            admission.run(&client, &[request]).await?;
            Ok(())
        };
        let span = setup.span;
        let before = written()?;
        let alone = rate(&runtime, span, waiting, batched)?;
        let (ids, bytes) = written()?;
        let admissions = alone.rate * span.as_secs_f64();
        let [ids, bytes] = [ids - before.0, bytes - before.1].map(|one| one as f64 / admissions);
        let turns: [Turn<'_>; 2] = [
            Box::new(|| rate(&runtime, span, waiting, batched)),
            Box::new(|| rate(&runtime, span, waiting, single)),
        ];
        let [batched, single] = go(setup.rounds, turns)?;
        let plural = if waiting == 1 { "request" } else { "requests" };
        let cost = format!("{ids:.3} transaction ids and {bytes:.0} bytes of WAL each");
        rows.push(Row::compare(
            format!("admissions in PostgreSQL, {waiting} {plural} waiting; {cost}"),
            Figure::Rate("req/s"),
            &batched,
            ("a statement each", &single),
            Target::AtLeast(least),
        ));
    }
    Ok(rows)
}

/// As many clients as wait, each of its own account, one request after the other.
fn rate(
    runtime: &Runtime,
    span: Duration,
    waiting: i64,
    admit: impl AsyncFn(KeyedRequest) -> anyhow::Result<()>,
) -> anyhow::Result<Sample> {
    let began = Instant::now();
    let admit = &admit;
    let clients = (0..waiting).map(|account| async move {
        let request = KeyedRequest { account, key: account, limits: UNLIMITED, unbanned_at_ms: 0 };
        let mut done = 0;
        while began.elapsed() < span {
            admit(request).await?;
            done += 1;
        }
        anyhow::Ok(done)
    });
    let mut total = 0;
    for done in runtime.block_on(join_all(clients)) {
        total += done?;
    }
    Ok(Sample::counted(total, began.elapsed().as_secs_f64()))
}
