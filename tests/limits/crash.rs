//! The real program, stopped politely and killed without a warning.

use crate::harness::Key;
use crate::harness::program::{Program, QUIETLY};
use std::time::Duration;
use store_orders_api::plans::Plan;

/// Sends so many requests; how many the minute has left after the last.
async fn list(program: &Program, key: &Key, times: u32) -> i64 {
    let http = reqwest::Client::new();
    let mut remaining = None;
    for _ in 0..times {
        let list = http.get(format!("{}/store/orders", program.base()));
        let answer = list.bearer_auth(&key.text).send().await.unwrap();
        let header = answer.headers()["x-ratelimit-remaining"].to_str().unwrap();
        remaining = Some(header.parse().unwrap());
    }
    remaining.unwrap()
}

#[tokio::test]
async fn a_kill_loses_at_most_a_second_of_counting_and_a_stop_none() {
    let directory = tempfile::tempdir().unwrap();
    let key = Key::of_a_new_account(directory.path(), Plan::Business);

    let program = Program::serve(directory.path(), &QUIETLY);
    assert_eq!(list(&program, &key, 20).await, 980);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(list(&program, &key, 5).await, 975);
    program.kill();

    let program = Program::serve(directory.path(), &QUIETLY);
    let remaining = list(&program, &key, 1).await;
    assert!((974..=979).contains(&remaining), "{remaining}: more than a second was lost");
    program.terminate().await;

    let program = Program::serve(directory.path(), &QUIETLY);
    assert_eq!(list(&program, &key, 1).await, remaining - 1);
}
