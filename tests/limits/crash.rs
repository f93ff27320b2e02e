//! Checks which request counts survive a stop and a `kill -9` of the real program.

use std::time::{Duration, Instant};
use test_server::wire_check::WireCheckProxy;
use testbed::{DataDir, Key, ServerProcess, StallDetector};

/// Lists orders. Returns the number of requests that remain for the day.
async fn list(server: &ServerProcess, key: &Key) -> i64 {
    let proxy = WireCheckProxy::before(server.address().unwrap());
    let list = reqwest::Client::new().get(format!("{}/store/orders", proxy.base_url()));
    let answer = list.bearer_auth(&key.text).send().await.unwrap();
    answer.headers()["x-ratelimit-remaining"].to_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_at_most_a_second_of_counting_and_a_stop_none() {
    let data = DataDir::temporary().unwrap();
    // `X-RateLimit-Remaining` describes the window with fewer requests left. The test needs the day
    // window in this header, because a minute window could end during a restart. So the limit per
    // minute is far above the limit per day.
    let key = data.issue_enterprise_key("acme", 1_000_000, 1_000).unwrap();

    let server = data.serve(&[]).unwrap();
    let (stall_detector, began, mut answered) =
        (StallDetector::start().unwrap(), Instant::now(), Vec::new());
    while began.elapsed() < Duration::from_secs(2) + stall_detector.stalled() {
        list(&server, &key).await;
        answered.push(Instant::now());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let last_second = Instant::now() - Duration::from_secs(1) - stall_detector.stalled();
    server.kill().unwrap();
    let expected = answered.iter().filter(|at| **at < last_second).count() as i64;
    assert!(expected > 0, "the machine stalled");

    let server = data.serve(&[]).unwrap();
    let remaining = list(&server, &key).await;
    let counted = 1_000 - 1 - remaining;
    assert!(
        (expected..=answered.len() as i64).contains(&counted),
        "{counted} of at least {expected}"
    );
    server.stop().unwrap();

    let server = data.serve(&[]).unwrap();
    assert_eq!(list(&server, &key).await, remaining - 1);
}
