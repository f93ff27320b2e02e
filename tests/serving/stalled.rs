//! Clients that take nothing of their answer.

use super::{MANY, slow_reader};
use crate::harness::CapturedLog;
use crate::harness::World;
use std::time::Duration;
use store_orders_api::plans::Plan;

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_nothing_is_cut_off() {
    let log = CapturedLog::new();
    let mut world = World::new().with_log(&log);
    world.config.stalled_after = Duration::from_secs(1);
    // It would have to wait for so long if nobody cut the client off.
    world.config.stop_within = Duration::from_secs(60);
    world.pending(1..=MANY);
    let key = world.key(Plan::Free);
    let server = world.serve().await;
    let client = slow_reader(server.untapped_address(), &key).await;
    server.stop().await;
    assert!(!log.text().contains("did not finish in time"), "{}", log.text());
    drop(client);
}
