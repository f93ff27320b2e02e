//! The wall clock is set forward and back, also while the server is down: no window opens
//! early, and no client is locked out.

use super::embedded::Embedded;
use crate::scenario::Tools;
use reqwest::{Client, StatusCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testbed::{Key, Preload, Report, ServerProcess};

const PER_DAY: u32 = 50;
const DAY: i64 = 86_400;

/// More than the interval at which counts are written.
const UNTIL_WRITTEN: Duration = Duration::from_millis(1_200);

/// How a server ends between two looks at its limits.
#[derive(Clone, Copy, Debug)]
enum End {
    /// It goes on.
    None,
    Stop,
    /// Right after the clock was set.
    Kill,
}

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (store, clock) = (Embedded::new(tools, 10)?, Preload::wall_clock()?);
    let data = &store.data;
    let key = data.issue_enterprise_key("acme", 1_000_000, PER_DAY)?;
    let start = || {
        let mut command = data.command();
        data.start(clock.put_into(&mut command), &["--log-level", "warning"])
    };
    let mut server = start()?;
    for _ in 0..PER_DAY {
        let (status, ..) = list(&server, &key).await?;
        report.expect(status == 200, || format!("a request within the limit: {status}"));
    }
    tokio::time::sleep(UNTIL_WRITTEN).await;
    let mut steps = 0;
    // Every step leaves the clock where it is; the last is the right time again.
    for seconds in [2 * DAY, -2 * DAY, fastrand::i64(-DAY..DAY), 400 * DAY, 0] {
        for end in [End::None, End::Stop, End::Kill] {
            clock.set(seconds)?;
            server = match end {
                End::None => server,
                End::Stop => {
                    server.stop()?;
                    start()?
                }
                End::Kill => {
                    server.kill()?;
                    start()?
                }
            };
            let (status, wait, reset) = list(&server, &key).await?;
            let what = format!("the clock at {seconds:+} s, end {end:?}");
            report.expect(status == 429, || format!("{what}: a window opened early, {status}"));
            report.expect((DAY - 600..=DAY).contains(&wait), || {
                format!("{what}: Retry-After is {wait}, not nearly a day")
            });
            // The server does see the clock that was set.
            let moved = reset - wait - i64::try_from(now()?)?;
            report.expect(moved.abs_diff(seconds) < 10, || {
                format!("{what}: X-RateLimit-Reset is {moved} s from the real time")
            });
            steps += 1;
        }
    }
    report.figure(format!("{steps} times the limit held"));
    server.stop()
}

/// Seconds since 1970 by the real clock.
fn now() -> anyhow::Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

/// The status of a list, its `Retry-After` and its `X-RateLimit-Reset`, or 0.
async fn list(server: &ServerProcess, key: &Key) -> anyhow::Result<(StatusCode, i64, i64)> {
    let url = format!("{}/store/orders", server.base_url());
    let answer = Client::new().get(url).bearer_auth(&key.text).send().await?;
    let number = |name| {
        let text = answer.headers().get(name).and_then(|value| value.to_str().ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    Ok((answer.status(), number("retry-after"), number("x-ratelimit-reset")))
}
