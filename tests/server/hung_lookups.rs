//! Tests that hanging lookups of pets harm no other requests, and that the server can still be
//! stopped in time. The hanging lookups far outnumber tokio's blocking threads.

use super::admin::ask;
use futures::future::join_all;
use reqwest::Client;
use rusqlite::Connection;
use std::time::Duration;
use testbed::{DataDir, Signal, WAIT_TIMEOUT};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Four times tokio's maximum of 512 blocking threads. So no thread would be free if each abandoned
/// lookup held one.
const LOOK_UPS: usize = 2_048;

/// The number of requests that are sent concurrently, each on its own connection.
const WAVE: usize = 250;

/// Makes a pet's name take forever to compute, so that a lookup never releases the connection that
/// reads pets.
const HANG: &str = "
    INSERT INTO pets (id, name) VALUES (7, 'Rex');
    ALTER TABLE pets RENAME TO named_pets;
    CREATE VIEW pets AS
        SELECT id, (WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number)
                    SELECT max(n) FROM number) AS name
        FROM named_pets";

/// Returns how many lookups the clients have abandoned. The metrics count these lookups under the
/// status 499.
async fn abandoned_look_ups(admin: &str) -> usize {
    let scraped = tokio::time::timeout(WAIT_TIMEOUT, ask(admin, "/metrics"));
    let (_, metrics) = scraped.await.unwrap();
    let name = "store_orders_requests_total{method=\"GET\",route=\"getPet\",status=\"499\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn hung_look_ups_harm_nothing_else_and_the_server_stops_in_time() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=1_000).unwrap();
    let key = data.issue_enterprise_key("acme", 1_000_000, 1_000_000).unwrap();
    let store = Connection::open(data.path().join("store.sqlite")).unwrap();
    store.execute_batch(HANG).unwrap();
    drop(store);
    let flags = ["--admin-listen", "127.0.0.1:0", "--shutdown-timeout", "5s"];
    let server = data.serve(&flags).unwrap();
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    let address = server.address().unwrap();

    // Each client disconnects before the response, but its lookup continues. A client that
    // disconnects before the server has read its request may cause no lookup. So the loop may need
    // more than `LOOK_UPS` clients.
    while abandoned_look_ups(&admin).await < LOOK_UPS {
        let clients = (0..WAVE).map(|_| async {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(&key.http1("GET /v1/pets/7")).await.unwrap();
            client
        });
        let clients = join_all(clients).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(clients);
    }

    let http = Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
    let base = server.base_url();
    let list = async |key: &str| {
        let list = http.get(format!("{base}/store/orders")).bearer_auth(key);
        let gzip = list.header("accept-encoding", "gzip").send().await.unwrap();
        (gzip.status().as_u16(), gzip.bytes().await.unwrap().len() > 1_000)
    };
    assert_eq!(list(&key.text).await, (200, true));
    let cancel = http.delete(format!("{base}/store/orders/1")).bearer_auth(&key.text);
    assert_eq!(cancel.send().await.unwrap().status(), 204);
    let fresh = data.issue_another_key("acme").unwrap();
    assert_eq!(list(&fresh.text).await, (200, true), "with a key that is not cached");
    assert_eq!(ask(&admin, "/readyz").await.0, 200);
    let waits = http.get(format!("{base}/pets/7")).bearer_auth(&key.text);
    assert_eq!(waits.send().await.unwrap().status(), 503);

    server.signal(Signal::TERM).unwrap();
    let (ended, log) = server.exited().await;
    assert_eq!(ended.code(), Some(0));
    assert!(!log.contains("last request counts not saved"), "the counts are written");
}
