//! A full disk, simulated without special rights: no file of the program may grow.

#![cfg(target_os = "linux")]

use super::admin::ask;
use rustix::process::{Resource, Rlimit, prlimit};
use testbed::contract::Tap;
use testbed::{DataDir, Key, ServerProcess, wait_until};

/// Limits the length of this process's files, or not.
fn limit_files(server: &ServerProcess, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(server.process().pid().unwrap()), Resource::Fsize, limit).unwrap();
}

struct Caller {
    http: reqwest::Client,
    tap: Tap,
    key: Key,
}

impl Caller {
    fn of(server: &ServerProcess, key: &Key) -> Caller {
        let tap = Tap::before(server.address().unwrap());
        Caller { http: reqwest::Client::new(), tap, key: key.clone() }
    }

    async fn cancel(&self, id: i64) -> reqwest::Response {
        let url = format!("{}/store/orders/{id}", self.tap.base_url());
        self.http.delete(url).bearer_auth(&self.key.text).send().await.unwrap()
    }

    async fn listed(&self) -> Vec<i64> {
        let url = format!("{}/store/orders", self.tap.base_url());
        let answer = self.http.get(url).bearer_auth(&self.key.text).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let orders: Vec<serde_json::Value> = answer.json().await.unwrap();
        orders.iter().map(|order| order["id"].as_i64().unwrap()).collect()
    }
}

fn serve(data: &DataDir) -> ServerProcess {
    // A write beyond the limit is an error then, and does not kill the process.
    data.serve_after("trap '' XFSZ", &["--admin-listen", "127.0.0.1:0"]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_gives_503_loses_nothing_and_heals() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=100).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let caller = Caller::of(&server, &key);
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    let mut left: Vec<i64> = (1..=100).collect();
    for id in 1..=5 {
        assert_eq!(caller.cancel(id).await.status(), 204);
        left.retain(|other| *other != id);
    }
    limit_files(&server, Some(0));
    for id in 6..=10 {
        let answer = caller.cancel(id).await;
        assert_eq!(answer.status(), 503, "order {id}");
        assert!(answer.headers().contains_key("retry-after"));
        let error: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(error["code"], "service_unavailable");
    }
    // Reads are served, and nothing is lost or half done.
    assert_eq!(caller.listed().await, left);
    let (status, body) = ask(&admin, "/readyz").await;
    assert_eq!(status, 503, "{body}");
    assert_eq!(ask(&admin, "/livez").await.0, 200);

    limit_files(&server, None);
    wait_until("it is ready again", || async { ask(&admin, "/readyz").await.0 == 200 }).await;
    for id in 6..=10 {
        assert_eq!(caller.cancel(id).await.status(), 204, "order {id}");
        left.retain(|other| *other != id);
    }
    assert_eq!(caller.listed().await, left);
    // A crash on a disk that is full again.
    limit_files(&server, Some(0));
    assert_eq!(caller.cancel(11).await.status(), 503);
    server.kill().unwrap();

    let server = serve(&data);
    assert_eq!(Caller::of(&server, &key).listed().await, left, "after a restart");
    let report = store_orders::store::sqlite::check(data.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let orders = report.orders.unwrap();
    assert_eq!((orders.pending, orders.cancelled), (90, 10));
}

/// The log of a store grows to 4 MiB before SQLite checkpoints it by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fills_the_disk_makes_room_for_itself() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=100).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let caller = Caller::of(&server, &key);
    limit_files(&server, Some(200_000));
    let mut refused = 0;
    for id in 1..=100 {
        match caller.cancel(id).await.status().as_u16() {
            503 => {
                refused += 1;
                assert_eq!(caller.cancel(id).await.status(), 204, "order {id}");
            }
            status => assert_eq!(status, 204, "order {id}"),
        }
    }
    assert!(refused > 0, "the log never reached the limit");
    assert_eq!(caller.listed().await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_need_no_temporary_file() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=1).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = serve(&data);
    let caller = Caller::of(&server, &key);
    assert_eq!(caller.listed().await, [1]);
    // Each far more than SQLite sorts in memory of its own accord; the second reads the whole table.
    for ids in [2..=90_000, 90_001..=200_000] {
        data.import_pending(ids.clone()).unwrap();
        limit_files(&server, Some(0));
        assert_eq!(caller.listed().await, (1..=*ids.end()).collect::<Vec<_>>());
        limit_files(&server, None);
    }
}
