//! Tests that a damaged store is not served unless the operator chooses `--serve-damaged`.

use super::admin::ask;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use testbed::{DataDir, Key, ServerProcess, wait_until};

const ORDERS: i64 = 1_000;

fn data() -> (DataDir, Key) {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=ORDERS).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    (data, key)
}

/// Returns the opened store file, and the byte offsets of the first and last leaf pages of the
/// table `orders`.
fn pages_of_orders(data: &DataDir) -> (File, [u64; 2]) {
    let path = data.path().join("store.sqlite");
    let page_at = |page: u32| u64::from(page - 1) * 4096;
    let root: u32 = {
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'orders'";
        Connection::open(&path).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
    };
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // An interior page has its rightmost child in the header, and a left child at the start of each
    // cell (https://sqlite.org/fileformat2.html, 1.6).
    let mut page = [0; 4096];
    file.read_exact_at(&mut page, page_at(root)).unwrap();
    assert_eq!(page[0], 5, "the root is an interior page");
    let child = |at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
    let first_cell = u16::from_be_bytes([page[12], page[13]]);
    (file, [child(first_cell.into()), child(8)].map(page_at))
}

/// Damages the last page of orders, as a torn write of the page's header would. SQLite then reads
/// only the first order of the page, and reports no error.
fn tear_page(data: &DataDir) {
    let (file, [_, last]) = pages_of_orders(data);
    file.write_all_at(&1_u16.to_be_bytes(), last + 3).unwrap();
}

/// Overwrites the first page of orders, so that SQLite reports an error when it reads these orders.
fn overwrite_page(data: &DataDir) {
    let (file, [first, _]) = pages_of_orders(data);
    file.write_all_at(&[0xff; 4096], first).unwrap();
}

/// Damages the store in a way that only the damage check finds, not the start.
pub fn break_constraint(data: &DataDir) {
    let store = Connection::open(data.path().join("store.sqlite")).unwrap();
    store
        .execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE orders SET quantity = 0")
        .unwrap();
}

fn serve(data: &DataDir, flags: &[&str]) -> ServerProcess {
    data.serve(&[&["--admin-listen", "127.0.0.1:0"], flags].concat()).unwrap()
}

async fn send(server: &ServerProcess, key: &Key, method: &str, path: &str) -> (u16, String) {
    let method = method.parse().unwrap();
    let request = reqwest::Client::new().request(method, format!("{}{path}", server.base_url()));
    let answer = request.bearer_auth(&key.text).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn expect_refused(server: &ServerProcess, key: &Key, damage: &str) {
    for (method, path) in
        [("GET", "/store/orders"), ("DELETE", "/store/orders/1"), ("GET", "/pets/1")]
    {
        let (status, body) = send(server, key, method, path).await;
        assert!(status == 503 && body.contains("service_unavailable"), "{method} {path}: {body}");
    }
    let admin = server.printed_after("admin listener on ").unwrap();
    let (status, body) = ask(admin, "/readyz").await;
    assert!(status == 503 && body.contains(damage), "{body}");
    let metrics = ask(admin, "/metrics").await.1;
    assert!(metrics.contains("store_orders_store_damaged 1\n"), "{metrics}");
    assert!(metrics.contains("store_orders_unready{reason=\"store_damaged\"} 1\n"), "{metrics}");
    wait_until("the damage is logged", || async {
        server.log().contains("\"the store is damaged\"")
    })
    .await;
    let log = server.log();
    let error = log.lines().find(|line| line.contains("\"the store is damaged\"")).unwrap();
    assert!(error.contains(damage) && error.contains("restore a backup"), "{error}");
}

async fn expect_served(server: &ServerProcess, key: &Key, damage: &str) -> usize {
    let admin = server.printed_after("admin listener on ").unwrap();
    wait_until("the damage is named", || async {
        let (status, body) = ask(admin, "/readyz").await;
        assert_eq!(status, 200, "{body}");
        body.contains(damage)
    })
    .await;
    let (status, body) = send(server, key, "GET", "/store/orders").await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Vec<serde_json::Value>>(&body).unwrap().len()
}

#[tokio::test]
async fn a_list_that_lacks_orders_is_never_sent() {
    let (data, key) = data();
    tear_page(&data);
    let damage = "the table of orders has";
    let server = serve(&data, &[]);
    // The first request must be refused even while the damage check is still running.
    let (status, body) = send(&server, &key, "GET", "/store/orders").await;
    assert_eq!(status, 503, "{} bytes", body.len());
    expect_refused(&server, &key, damage).await;
    drop(server);
    let server = serve(&data, &["--serve-damaged"]);
    assert!(expect_served(&server, &key, damage).await < ORDERS as usize);
}

#[tokio::test]
async fn a_store_whose_orders_cannot_be_read_is_not_served_unless_the_operator_wants_it() {
    let (data, key) = data();
    overwrite_page(&data);
    let damage = "database disk image is malformed";
    let server = serve(&data, &[]);
    expect_refused(&server, &key, damage).await;
    drop(server);
    let server = serve(&data, &["--serve-damaged"]);
    let served = expect_served(&server, &key, damage).await;
    // The lost page of the database file has fewer than 200 orders.
    assert!((ORDERS as usize - 200..ORDERS as usize).contains(&served), "{served} orders");
    assert_eq!(send(&server, &key, "DELETE", "/store/orders/999").await.0, 204);
    assert_eq!(expect_served(&server, &key, damage).await, served - 1);
}

#[tokio::test]
async fn a_store_is_refused_once_the_check_has_found_it_damaged() {
    let (data, key) = data();
    let server = serve(&data, &[]);
    wait_until("the check ends", || async { server.log().contains("no damage found") }).await;
    assert_eq!(send(&server, &key, "GET", "/store/orders").await.0, 200);
    drop(server);
    break_constraint(&data);
    let damage = "CHECK constraint failed in orders";
    let server = serve(&data, &[]);
    wait_until("the check ends", || async { server.log().contains(damage) }).await;
    expect_refused(&server, &key, damage).await;
    drop(server);
    let server = serve(&data, &["--serve-damaged"]);
    assert_eq!(expect_served(&server, &key, damage).await, ORDERS as usize);
}
