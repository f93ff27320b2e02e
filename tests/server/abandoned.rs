//! Requests whose client disconnects before the response.

use super::admin::ask;
use super::data_with;
use rusqlite::Connection;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use testbed::{DataDir, wait_until};

/// Blocks all writes to the store until the returned connection ends its transaction.
fn block_writes(data: &DataDir) -> Connection {
    let connection = Connection::open(data.path().join("store.sqlite")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Sends a cancellation while the store cannot be written. Once the batch with the cancellation
/// runs, calls `leave`, which disconnects the client.
async fn abandon_a_cancel(leave: fn(TcpStream)) {
    let (data, key) = data_with(2);
    let server = data.serve(&["--admin-listen", "127.0.0.1:0"]).unwrap();
    let blocker = block_writes(&data);
    let mut client = TcpStream::connect(server.address().unwrap()).unwrap();
    client.write_all(&key.http1("DELETE /v1/store/orders/1")).unwrap();
    // Wait until the batch runs. If the client disconnected earlier, during the lookup of the key,
    // the server would not execute the cancellation.
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    let metrics = || async { ask(&admin, "/metrics").await.1 };
    wait_until("the cancel is under way", || async {
        let age = "store_orders_running_batch_age_seconds ";
        metrics().await.lines().any(|line| line.starts_with(age) && !line.ends_with(" 0.0"))
    })
    .await;
    leave(client);
    wait_until("the request is logged", || async {
        server.log().contains(r#""path":"/v1/store/orders/1","status":499"#)
    })
    .await;
    let line = r#"method="DELETE",route="cancelOrder",status="499"} 1"#;
    let counted = metrics().await;
    assert!(counted.contains(line), "{counted}");
    blocker.execute_batch("ROLLBACK").unwrap();
    wait_until("the order is cancelled", || async {
        let order = data.run_json(&["orders", "show", "1"]).unwrap();
        order["status"] == "cancelled"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_cancel_is_logged_counted_and_executed() {
    abandon_a_cancel(drop).await;
}

/// If this test fails, a new version of dropshot or hyper may respond to clients that close their
/// writing side. Then update `src/handbook/operating.md` and `api/UPSTREAM.md`.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_writing_side_gets_no_response_but_its_cancel_is_executed() {
    abandon_a_cancel(|mut client| {
        client.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        assert!(received.is_empty(), "{received:?}");
    })
    .await;
}
