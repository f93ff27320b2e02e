//! Clients that do not read their response are disconnected.

use super::{MANY_ORDERS, slow_reader};
use std::time::Duration;
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, TestSetup};

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_cut_off() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    setup.config.client_stall_timeout = Duration::from_secs(1);
    // A server that did not disconnect the client would take this long to stop.
    setup.config.shutdown_timeout = Duration::from_secs(60);
    setup.pending(1..=MANY_ORDERS);
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let client = slow_reader(server.direct_address(), &key).await;
    server.stop().await;
    assert!(!log.text().contains("did not finish in time"), "{}", log.text());
    drop(client);
}
