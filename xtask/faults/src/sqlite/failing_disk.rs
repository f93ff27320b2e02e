//! A disk whose fsync fails: nothing is acknowledged that is not durable, lists go on, and
//! cancellations work again as soon as the disk does.

use super::clients::cancel;
use super::slow_disk::SlowDisk;
use futures::future::join_all;
use reqwest::{Client, StatusCode};
use std::time::{Duration, Instant};
use testbed::{DataDir, Program, Report};

/// Runs it.
pub async fn run(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let (directory, disk) = (tempfile::tempdir()?, SlowDisk::new()?);
    let data = DataDir::at(program, &directory.path().join("data"));
    data.import_pending(1..=1_000)?;
    let key = data.issue_enterprise_key("clients", 1_000_000, 1_000_000)?;
    let server = data.start(disk.put_under(&mut data.command()), &["--log-level", "warning"])?;
    let (http, base) = (Client::new(), server.base_url());

    disk.fail()?;
    let failed = join_all((1..=200).map(|order| cancel(&http, base, &key, order))).await;
    let refused = failed.iter().filter(|seen| seen.status == Some(StatusCode::SERVICE_UNAVAILABLE));
    report.figure(format!("{} of 200 cancels answered with 503", refused.count()));
    report.expect(
        failed.iter().all(|seen| seen.status == Some(StatusCode::SERVICE_UNAVAILABLE)),
        || {
            format!(
                "a cancel that was not synced: {:?}",
                failed.iter().map(|seen| seen.status).max()
            )
        },
    );
    let list = http.get(format!("{base}/store/orders")).bearer_auth(&key.text).send().await?;
    report.expect(list.status() == 200, || format!("a list was answered with {}", list.status()));
    let orders: serde_json::Value = list.json().await?;
    let listed = orders.as_array().map_or(0, Vec::len);
    report.expect(listed == 1_000, || format!("a list shows {listed} of 1,000 pending orders"));

    disk.delay(Duration::ZERO)?;
    let healed = Instant::now();
    let mut first = cancel(&http, base, &key, 1).await;
    while first.status != Some(StatusCode::NO_CONTENT) && healed.elapsed() < Duration::from_secs(20)
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
        first = cancel(&http, base, &key, 1).await;
    }
    report.time(
        "the first cancel after the disk works again",
        healed.elapsed(),
        Duration::from_secs(2),
    );
    let again = join_all((2..=200).map(|order| cancel(&http, base, &key, order))).await;
    let lost = again.iter().filter(|seen| seen.status != Some(StatusCode::NO_CONTENT)).count();
    report.expect(lost == 0, || format!("{lost} refused cancels were carried out nevertheless"));
    server.kill()?;
    let cancelled = data.run_json(&["orders", "list", "--status", "cancelled"])?;
    let cancelled = cancelled.as_array().map_or(0, Vec::len);
    report.expect(cancelled == 200, || format!("{cancelled} of 200 cancelled orders are stored"));
    Ok(())
}
