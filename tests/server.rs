//! Tests of a running server: TLS, the admin listener, metrics, stopping and faults.

mod abandoned;
pub mod admin;
mod awaited_store;
mod damaged;
mod failures;
mod full_disk;
mod hung_lookups;
mod metrics;
mod one_per_store;
mod open_files;
mod output;
mod panics;
mod secret_files;
mod silent_store;
mod slow_readers;
mod stalled_clients;
mod stopping;
mod tls;

use std::net::SocketAddr;
use store_orders_client::Client;
use test_server::wire_check::WireCheckProxy;
use testbed::{DataDir, Key, ServerProcess, WAIT_TIMEOUT, wait_for};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// So many orders that their list, of 5 MB, does not fit into the operating system's buffers.
const MANY_ORDERS: i64 = 100_000;

/// Creates a data directory with this many orders, and a key for 1,000 requests a day. The limit
/// per minute is far higher, so `X-RateLimit-Remaining` shows the rest of the daily limit.
fn data_with(orders: i64) -> (DataDir, Key) {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=orders).unwrap();
    let key = data.issue_enterprise_key("acme", 1_000_000, 1_000).unwrap();
    (data, key)
}

/// Returns a client without retries, and the proxy through which the client connects. The proxy
/// checks each response against the API's document. The client's timeout is long, because on a busy
/// machine the proxy takes long to check a large list.
pub fn client(server: &ServerProcess, key: &Key) -> (WireCheckProxy, Client) {
    let proxy = WireCheckProxy::before(server.address().unwrap());
    let client = client_of(&proxy.base_url(), key);
    (proxy, client)
}

/// Returns a client that bypasses the wire check, because checking a list of 100,000 orders takes
/// seconds.
pub fn unchecked_client(server: &ServerProcess, key: &Key) -> Client {
    client_of(server.base_url(), key)
}

fn client_of(base_url: &str, key: &Key) -> Client {
    let client = Client::builder(base_url, &key.text).without_retries();
    client.read_timeout(WAIT_TIMEOUT).build().unwrap()
}

/// Requests the list, but reads only the status line. Repeats the request after a 503. On a busy
/// machine, the server may poll the store for changed keys too late. Its cached keys are then out
/// of date, and it answers 503.
async fn slow_reader(address: SocketAddr, key: &Key) -> TcpStream {
    let ask = async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8 * 1024).unwrap();
        let mut reader = socket.connect(address).await.unwrap();
        reader.write_all(&key.http1("GET /v1/store/orders")).await.unwrap();
        let mut status = [0; 17];
        reader.read_exact(&mut status).await.unwrap();
        let status = String::from_utf8_lossy(&status);
        assert!(["HTTP/1.1 200 OK\r\n", "HTTP/1.1 503 Serv"].contains(&&*status), "{status}");
        status.contains("200").then_some(reader)
    };
    wait_for("the list comes", WAIT_TIMEOUT, ask).await.unwrap()
}

async fn rest_of_list(mut reader: TcpStream) -> Vec<serde_json::Value> {
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.unwrap();
    let body = rest.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    serde_json::from_slice(&rest[body..]).unwrap()
}
