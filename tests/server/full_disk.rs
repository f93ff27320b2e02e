//! Tests of a full disk. A resource limit on the server's files simulates the full disk, because
//! such a limit needs no root.

#![cfg(target_os = "linux")]

use super::admin::ask;
use super::client;
use rustix::process::{Resource, Rlimit, prlimit};
use store_orders_client::Client;
use test_server::error_of;
use testbed::{DataDir, ServerProcess, wait_until};

fn limit_files(server: &ServerProcess, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(server.process().pid().unwrap()), Resource::Fsize, limit).unwrap();
}

async fn listed(client: &Client) -> Vec<i64> {
    client.list_orders().await.unwrap().iter().map(|order| *order.id).collect()
}

fn serve(data: &DataDir) -> ServerProcess {
    // [`limit_files`] limits file lengths to simulate a full disk. Without the trap, SIGXFSZ would
    // kill the server.
    data.serve_after("trap '' XFSZ", &["--admin-listen", "127.0.0.1:0"]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_gives_503_loses_nothing_and_heals() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=100).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let (_proxy, client) = client(&server, &key);
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    let mut remaining: Vec<i64> = (1..=100).collect();
    for id in 1..=5 {
        client.cancel_order(id).await.unwrap();
        remaining.retain(|other| *other != id);
    }
    limit_files(&server, Some(0));
    for id in 6..=10 {
        let unavailable = (503, "service_unavailable".to_string());
        assert_eq!(error_of(client.cancel_order(id).await), unavailable, "order {id}");
    }
    assert_eq!(listed(&client).await, remaining);
    let (status, body) = ask(&admin, "/readyz").await;
    assert_eq!(status, 503, "{body}");
    assert_eq!(ask(&admin, "/livez").await.0, 200);

    limit_files(&server, None);
    wait_until("the server is ready again", || async { ask(&admin, "/readyz").await.0 == 200 })
        .await;
    for id in 6..=10 {
        client.cancel_order(id).await.unwrap();
        remaining.retain(|other| *other != id);
    }
    assert_eq!(listed(&client).await, remaining);
    limit_files(&server, Some(0));
    assert_eq!(error_of(client.cancel_order(11).await).0, 503);
    server.kill().unwrap();

    let server = serve(&data);
    let (_proxy, client) = super::client(&server, &key);
    assert_eq!(listed(&client).await, remaining, "after a restart");
    let report = store_orders::store::sqlite::check(data.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let orders = report.orders.unwrap();
    assert_eq!((orders.pending, orders.cancelled), (90, 10));
}

/// The server checkpoints the WAL after 4,000 pages (about 16 MB) or 250 commits. In this test, the
/// WAL reaches the file size limit earlier. A write then fails, and the server must checkpoint the
/// WAL.
#[tokio::test(flavor = "multi_thread")]
async fn a_wal_that_fills_the_disk_is_checkpointed() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=100).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let (_proxy, client) = client(&server, &key);
    limit_files(&server, Some(200_000));
    let mut refused = 0;
    for id in 1..=100 {
        let cancelled = client.cancel_order(id).await;
        if cancelled.is_err() {
            refused += 1;
            assert_eq!(error_of(cancelled).0, 503, "order {id}");
            client.cancel_order(id).await.unwrap();
        }
    }
    assert!(refused > 0, "the log never reached the limit");
    assert_eq!(listed(&client).await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_need_no_temporary_file() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=1).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let client = super::unchecked_client(&server, &key);
    assert_eq!(listed(&client).await, [1]);
    // While the limit on the size of files is 0, SQLite cannot write a temporary file. For up to
    // 100,000 changed orders, the server sorts in memory. For more, the server reads the whole
    // table by id and sorts nothing.
    for ids in [2..=90_000, 90_001..=200_000] {
        data.import_pending(ids.clone()).unwrap();
        limit_files(&server, Some(0));
        assert_eq!(listed(&client).await, (1..=*ids.end()).collect::<Vec<_>>());
        limit_files(&server, None);
    }
}
