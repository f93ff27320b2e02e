//! Clients that request many lists and read none, over HTTP/1.1 and HTTP/2. The memory for outdated
//! lists must stay bounded.

use super::admin;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use std::net::SocketAddr;
use store_orders_client::Client;
use testbed::{DataDir, Key, ServerProcess, WAIT_TIMEOUT, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MIB: f64 = 1_048_576.0;

const RESIDENT: &str = "process_resident_memory_bytes";

/// Memory that the server may use in addition to outdated lists:
///
/// - a new list that is being built
/// - freed memory that the allocator keeps
/// - buffers of connections whose list was cut off
const OTHER_BYTES: f64 = 88.0 * MIB;

async fn request_unread_list(address: SocketAddr, key: &Key) -> TcpStream {
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(&key.http1("GET /v1/store/orders")).await.unwrap();
    assert!(client.peek(&mut [0]).await.unwrap() > 0, "the connection was closed");
    client
}

/// Opens an HTTP/2 connection that lets the server send this many bytes on each stream.
async fn connect_with_window(address: SocketAddr, window: u32) -> SendRequest<Bytes> {
    let client = TcpStream::connect(address).await.unwrap();
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window);
    let (sender, connection) = builder.handshake(client).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn request_list(connection: &SendRequest<Bytes>, key: &Key) -> ResponseFuture {
    let mut connection = connection.clone().ready().await.unwrap();
    let request = http::Request::get("http://a/v1/store/orders")
        .header("authorization", format!("Bearer {}", key.text))
        .body(())
        .unwrap();
    connection.send_request(request, true).unwrap().0
}

async fn metric(server: &ServerProcess, name: &str) -> f64 {
    let origin = server.printed_after("admin listener on ").unwrap();
    let (_, text) = admin::ask(origin, "/metrics").await;
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value).unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Cancels 20 orders spread over the list, so that nearly every page changes.
async fn change_most_pages(client: &Client, round: i64, orders: i64) {
    let ids = (0..20).map(|place| 1 + round + place * orders / 20);
    let cancels = ids.map(|id| async move { client.cancel_order(id).await.unwrap() });
    futures::future::join_all(cancels).await;
}

/// Checks that outdated lists take at most `mib` MiB while clients read nothing. `is_cut` is true
/// if a list does not fit into a connection's buffers. The server must then abort the response with
/// the oldest list.
async fn outdated_lists_stay_within_their_bound(orders: i64, mib: u32, rounds: i64, is_cut: bool) {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=orders).unwrap();
    let [greedy, oldest, other] = ["greedy", "oldest", "other"]
        .map(|name| data.issue_enterprise_key(name, 1_000_000, 1_000_000).unwrap());
    let bound = mib.to_string();
    let listen = ["--admin-listen", "127.0.0.1:0", "--outdated-lists-mib", &bound];
    // `--client-stall-timeout 1h` keeps clients connected that read nothing.
    let server = data.serve(&[&listen[..], &["--client-stall-timeout", "1h"]].concat()).unwrap();
    let address = server.address().unwrap();
    let client = super::unchecked_client(&server, &other);

    let mut oldest = request_unread_list(address, &oldest).await;
    let windows = [connect_with_window(address, 0).await, connect_with_window(address, 1).await];
    let (mut streams, mut connections) = (Vec::new(), Vec::new());
    let before = metric(&server, RESIDENT).await;
    for round in 0..rounds {
        for connection in &windows {
            streams.push(request_list(connection, &greedy).await.await.unwrap());
        }
        if round < 5 {
            connections.push(request_unread_list(address, &greedy).await);
        }
        change_most_pages(&client, round, orders).await;
        // A client that reads the current list gets all of it.
        assert_eq!(client.list_orders().await.unwrap().len() as i64, orders - 20 * (round + 1));
        let outdated = metric(&server, "store_orders_outdated_list_bytes").await;
        assert!(outdated <= f64::from(mib) * MIB, "round {round}: {outdated} bytes");
        let grown = metric(&server, RESIDENT).await - before;
        assert!(grown <= f64::from(mib) * MIB + OTHER_BYTES, "round {round}: {grown} bytes more");
    }
    assert!(metric(&server, "store_orders_lists_cut_off_total").await > 0.0);

    let mut list = Vec::new();
    let mut buffer = vec![0; 65_536];
    while !list.ends_with(b"]") {
        let read = tokio::time::timeout(WAIT_TIMEOUT, oldest.read(&mut buffer));
        match read.await.unwrap() {
            Ok(0) | Err(_) => break,
            Ok(read) => list.extend_from_slice(&buffer[..read]),
        }
    }
    assert_eq!(!list.ends_with(b"]"), is_cut, "is the oldest list cut off?");
    if !is_cut {
        let head = list.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let list: Vec<serde_json::Value> = serde_json::from_slice(&list[head + 4..]).unwrap();
        assert_eq!(list.len() as i64, orders);
    }

    drop((streams, connections, windows, oldest));
    wait_until("outdated lists are freed", || async {
        metric(&server, "store_orders_outdated_list_bytes").await == 0.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_outdated_lists_stay_within_their_bound() {
    // Each list has 0.8 MB.
    outdated_lists_stay_within_their_bound(15_000, 8, 16, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_outdated_lists_stay_within_their_bound() {
    // Each list has 5 MB.
    outdated_lists_stay_within_their_bound(100_000, 32, 8, true).await;
}
