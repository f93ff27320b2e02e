//! Clients that take nothing of their answer.

use crate::harness::CapturedLog;
use crate::harness::World;
use std::time::Duration;
use store_orders_api::plans::Plan;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_nothing_is_cut_off() {
    let log = CapturedLog::new();
    let mut world = World::new().with_log(&log);
    world.config.stalled_after = Duration::from_secs(1);
    // It would have to wait for so long if nobody cut the client off.
    world.config.drain = Duration::from_secs(60);
    world.pending(1..=100_000);
    let key = world.key(Plan::Free);
    let server = world.serve().await;
    if log.text().contains("are not cut off") {
        eprintln!("not tested: this sandbox keeps a process from its own sockets");
        return;
    }
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut client = socket.connect(server.untapped_address()).await.unwrap();
    let request = format!(
        "GET /v1/store/orders HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        key.text
    );
    client.write_all(request.as_bytes()).await.unwrap();
    crate::harness::program::until("the list goes out", || async {
        log.lines("INFO").iter().any(|line| line["path"] == "/v1/store/orders")
    })
    .await;
    server.stop().await;
    assert!(!log.text().contains("did not finish in time"), "{}", log.text());
    drop(client);
}
