//! `kill -9` again and again, with clients that cancel and operators' commands beside:
//! what was acknowledged is there after each restart, and nothing else is broken.

use super::clients::Cancelling;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use testbed::{DataDir, Program, Report};

const ORDERS: i64 = 200_000;
const CLIENTS: usize = 8;
const ROUNDS: usize = 6;

/// Runs it.
pub async fn run(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let data = DataDir::at(program, &directory.path().join("data"));
    data.import_pending(1..=ORDERS)?;
    let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
    data.run(&["accounts", "create", "acme", "--plan", "pro"])?;
    let next = Arc::new(AtomicI64::new(1));
    let (mut cancelled, mut shipped, mut issued) = (HashSet::new(), HashSet::new(), HashSet::new());
    let (mut slowest, mut unanswered) = (Duration::ZERO, 0);
    for round in 0..ROUNDS {
        let began = Instant::now();
        let server = data.serve(&["--log-level", "warning"])?;
        slowest = slowest.max(began.elapsed());
        let load = Cancelling::start(CLIENTS, server.base_url(), &key, &next, ORDERS);
        // Commands run until the server has been killed.
        let until = Instant::now() + Duration::from_millis(fastrand::u64(200..1_500));
        let (program, path) = (program.clone(), data.path().to_path_buf());
        let first = ORDERS - 100 * (round as i64 + 1);
        let commands = tokio::task::spawn_blocking(move || {
            let data = DataDir::at(&program, &path);
            let (mut shipped, mut issued) = (Vec::new(), Vec::new());
            for order in first..first + 100 {
                if Instant::now() > until + Duration::from_millis(200) {
                    break;
                }
                data.run(&["orders", "ship", &order.to_string()])?;
                shipped.push(order);
                let key = data.run_json(&["keys", "issue", "--account", "acme"])?;
                issued.extend(key.get("id").and_then(|id| id.as_str()).map(ToString::to_string));
            }
            anyhow::Ok((shipped, issued))
        });
        tokio::time::sleep(until.saturating_duration_since(Instant::now())).await;
        server.kill()?;
        let answers = load.stop().await?;
        let done = |status: u16| {
            move |seen: &&super::clients::Seen| seen.status.is_some_and(|s| s == status)
        };
        cancelled.extend(answers.iter().filter(done(204)).map(|seen| seen.order));
        unanswered += answers.iter().filter(|seen| seen.status.is_none()).count();
        let (own_shipped, own_issued) = commands.await??;
        shipped.extend(own_shipped);
        issued.extend(own_issued);
        next.fetch_add(CLIENTS as i64, Ordering::Relaxed);
        compare(&data, round, [&cancelled, &shipped], &issued, report)?;
    }
    report.figure(format!(
        "{ROUNDS} kills: {} cancellations acknowledged, {unanswered} without an answer, {} orders \
         shipped, {} keys issued",
        cancelled.len(),
        shipped.len(),
        issued.len()
    ));
    report.figure(format!("the slowest restart: {slowest:.2?}"));
    Ok(())
}

/// Holds the store against what was acknowledged: cancelled and shipped orders, keys.
fn compare(
    data: &DataDir,
    round: usize,
    [cancelled, shipped]: [&HashSet<i64>; 2],
    issued: &HashSet<String>,
    report: &mut Report,
) -> anyhow::Result<()> {
    for (status, acknowledged) in [("cancelled", cancelled), ("shipped", shipped)] {
        let stored = data.run_json(&["orders", "list", "--status", status])?;
        let rows = stored.as_array().into_iter().flatten();
        let stored: HashSet<i64> = rows.filter_map(|row| row.get("id")?.as_i64()).collect();
        let lost = acknowledged.difference(&stored).count();
        report.expect(lost == 0, || format!("round {round}: {lost} {status} orders were lost"));
    }
    let stored = data.run_json(&["keys", "list"])?;
    let rows = stored.as_array().into_iter().flatten();
    let stored: HashSet<&str> = rows.filter_map(|row| row.get("id")?.as_str()).collect();
    let lost = issued.iter().filter(|id| !stored.contains(id.as_str())).count();
    report.expect(lost == 0, || format!("round {round}: {lost} keys were lost"));
    // Exits with an error if it finds anything.
    if let Err(error) = data.run(&["check"]) {
        report.expect(false, || format!("round {round}: {error:#}"));
    }
    Ok(())
}
