//! A disk that answers no fsync for some seconds: clients are told in time, `/readyz`
//! says why, and everything works again afterwards.

use super::clients::cancel;
use super::slow_disk::SlowDisk;
use futures::future::join_all;
use reqwest::Client;
use std::time::{Duration, Instant};
use testbed::{DataDir, Program, Report};

/// How long the disk hangs.
const HANGS: Duration = Duration::from_secs(12);

/// The longest that a client may wait for an answer, and a little for the answer itself.
const LONGEST_WAIT: Duration = Duration::from_millis(5_500);

/// Runs it.
pub async fn run(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    let (directory, disk) = (tempfile::tempdir()?, SlowDisk::new()?);
    let data = DataDir::at(program, &directory.path().join("data"));
    data.import_pending(1..=1_000)?;
    let key = data.issue_enterprise_key("clients", 1_000_000, 1_000_000)?;
    let server =
        data.start(disk.put_under(&mut data.command()), &["--admin-listen", "127.0.0.1:0"])?;
    let admin = server.printed_after("admin listener on ").unwrap_or_default().to_string();
    let (http, base) = (Client::new(), server.base_url());
    let ready = async || http.get(format!("{admin}/readyz")).send().await?.error_for_status();
    // The first use of the key is recorded before the disk hangs.
    cancel(&http, base, &key, 1_000).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    disk.delay(HANGS)?;
    let hung_at = Instant::now();
    let first = cancel(&http, base, &key, 1).await;
    disk.delay(Duration::ZERO)?;
    report.time("the cancel in the batch that hangs", first.took, LONGEST_WAIT);
    let told = |status: Option<reqwest::StatusCode>| status.is_some_and(|status| status == 503);
    report.expect(told(first.status), || format!("it was answered with {:?}", first.status));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let others = join_all((2..=40).map(|order| cancel(&http, base, &key, order))).await;
    let slowest = others.iter().map(|seen| seen.took).max().unwrap_or_default();
    report.time("cancels after that", slowest, Duration::from_millis(500));
    report.expect(others.iter().all(|seen| told(seen.status)), || {
        format!("they were answered with {:?}", others.first().map(|seen| seen.status))
    });
    let body = http.get(format!("{admin}/readyz")).send().await?;
    let (status, body) = (body.status(), body.text().await?);
    report.figure(format!("/readyz while it hangs: {status} {}", body.trim()));
    report.expect(status == 503, || format!("/readyz answered {status} on a hung disk"));
    let list = http.get(format!("{base}/store/orders")).bearer_auth(&key.text).send().await?;
    report.expect(list.status() == 200, || format!("a list was answered with {}", list.status()));

    while ready().await.is_err() && hung_at.elapsed() < 4 * HANGS {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = hung_at.elapsed().saturating_sub(HANGS);
    report.time("ready again after the disk", after, Duration::from_secs(2));
    let again = cancel(&http, base, &key, 1).await;
    report.expect(again.status.is_some_and(|status| status == 404), || {
        format!("the cancel in the hung batch was lost: {:?}", again.status)
    });
    // Nobody carried out what was refused.
    for order in 2..=5 {
        let again = cancel(&http, base, &key, order).await;
        report.expect(again.status.is_some_and(|status| status == 204), || {
            format!("order {order} was refused and cancelled nevertheless: {:?}", again.status)
        });
    }
    server.stop()
}
