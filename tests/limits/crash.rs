//! The real program, stopped politely and killed without a warning.

use testbed::contract::Tap;
use testbed::{DataDir, Key, ServerProcess, wait_a_second_until};

/// Sends requests; how many the day has left after the last.
async fn list(server: &ServerProcess, key: &Key, times: u32) -> i64 {
    let (http, tap) = (reqwest::Client::new(), Tap::before(server.address().unwrap()));
    let mut remaining = None;
    for _ in 0..times {
        let list = http.get(format!("{}/store/orders", tap.base_url()));
        let answer = list.bearer_auth(&key.text).send().await.unwrap();
        let header = answer.headers()["x-ratelimit-remaining"].to_str().unwrap();
        remaining = Some(header.parse().unwrap());
    }
    remaining.unwrap()
}

/// How many requests the file of the limits has counted.
fn written(data: &DataDir) -> Option<i64> {
    let account = data.run_json(&["accounts", "show", "acme"]).unwrap();
    account["usage"]["day"]["used"].as_i64()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_at_most_a_second_of_counting_and_a_stop_none() {
    let data = DataDir::temporary().unwrap();
    // By the day: a minute may pass while a busy machine restarts a server.
    let key = data.issue_enterprise_key("acme", 1_000_000, 1_000).unwrap();

    let server = data.serve(&[]).unwrap();
    assert_eq!(list(&server, &key, 20).await, 980);
    wait_a_second_until("the counts are written", || async { written(&data) == Some(20) }).await;
    assert_eq!(list(&server, &key, 5).await, 975);
    server.kill().unwrap();

    let server = data.serve(&[]).unwrap();
    let remaining = list(&server, &key, 1).await;
    assert!((974..=979).contains(&remaining), "{remaining}: what was written is lost");
    server.stop().unwrap();

    let server = data.serve(&[]).unwrap();
    assert_eq!(list(&server, &key, 1).await, remaining - 1);
}
