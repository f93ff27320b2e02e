//! Requests counted in Redis, in batches, against a script for each of them on the same kind
//! of connection.

use crate::machine::Side;
use crate::rounds::{Sample, Turn, go};
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};
use anyhow::ensure;
use futures::future::join_all;
use redis::Client;
use slog::{Logger, o};
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::config::LimitsLost;
use store_orders::limits::redis::AdmissionScript;
use store_orders::limits::{Decision, KeyedRequest, Limits, RedisLimits};
use store_orders_api::plans::PlanLimits;
use testbed::redis::{InstalledRedis, Redis};
use tokio::runtime::Runtime;

const STORE_ID: &str = "0123456789abcdef";
const UNLIMITED: PlanLimits = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };

/// No clock of ours has a part in the counting.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// How many requests wait, and how many times the rate of a script each is asked for. Alone,
/// an admission may take no longer than the one round trip of its script.
const WAITING: [(i64, f64); 3] = [(1, 0.9), (64, 1.5), (256, 2.5)];

/// Fails if Redis is missing.
pub fn check_tools() -> anyhow::Result<()> {
    InstalledRedis::find().map(drop)
}

/// An empty Redis on the served side.
pub fn start() -> anyhow::Result<Redis> {
    let installed = InstalledRedis::find()?;
    Side::Served.run(|| installed.start(&[]))
}

/// Measures admissions.
pub fn measure(setup: &BenchSetup) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = start()?;
    let url = server.url();
    let limits = runtime.block_on(async {
        let log = Logger::root(slog::Discard, o!());
        RedisLimits::open(url.parse()?, LimitsLost::Refuse, STORE_ID, 1, log)
            .await
            .map_err(|error| anyhow::anyhow!("{error}"))
    })?;
    let connection =
        runtime.block_on(Client::open(url.as_str())?.get_multiplexed_async_connection())?;
    let script = AdmissionScript::new(STORE_ID);
    let mut rows = Vec::new();
    for (waiting, least) in WAITING {
        let batched = async |request: KeyedRequest| {
            let decision = limits.admit(request, NOW).await;
            ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
            Ok(())
        };
        let single = async |request: KeyedRequest| {
            script.run(&mut connection.clone(), &[request]).await?;
            Ok(())
        };
        let span = setup.span;
        let turns: [Turn<'_>; 2] = [
            Box::new(|| rate(&runtime, span, waiting, batched)),
            Box::new(|| rate(&runtime, span, waiting, single)),
        ];
        let [batched, single] = go(setup.rounds, turns)?;
        let plural = if waiting == 1 { "request" } else { "requests" };
        rows.push(Row::compare(
            format!("admissions in Redis, {waiting} {plural} waiting"),
            Figure::Rate("req/s"),
            &batched,
            ("a script each", &single),
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
