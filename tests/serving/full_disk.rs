//! A disk without room, in the way that needs no rights: no file of the program
//! may grow.

#![cfg(target_os = "linux")]

use super::operators::ask;
use crate::harness::Key;
use crate::harness::program::Program;
use crate::harness::program::until;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::path::Path;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;

/// No file of this process gets longer than so many bytes; none: as long as it
/// likes.
fn limit_files(server: &Program, bytes: Option<u64>) {
    let process = Pid::from_raw(server.id().try_into().unwrap());
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(process, Resource::Fsize, limit).unwrap();
}

struct Caller {
    http: reqwest::Client,
    base: String,
    key: Key,
}

impl Caller {
    async fn cancel(&self, id: i64) -> reqwest::Response {
        let url = format!("{}/store/orders/{id}", self.base);
        self.http.delete(url).bearer_auth(&self.key.text).send().await.unwrap()
    }

    async fn listed(&self) -> Vec<i64> {
        let url = format!("{}/store/orders", self.base);
        let answer = self.http.get(url).bearer_auth(&self.key.text).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let orders: Vec<serde_json::Value> = answer.json().await.unwrap();
        orders.iter().map(|order| order["id"].as_i64().unwrap()).collect()
    }
}

fn serve(directory: &Path) -> Program {
    Program::serve(directory, &["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_gives_503_loses_nothing_and_heals() {
    let directory = crate::harness::program::directory_with(100);
    let key = Key::of_a_new_account(directory.path(), Plan::Business);
    let server = serve(directory.path());
    let (http, base) = (reqwest::Client::new(), server.base());
    let caller = Caller { http, base, key };
    let operators = server.operators().unwrap().to_string();
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
    // Whoever only reads is served, and nothing is lost or half done.
    assert_eq!(caller.listed().await, left);
    let (status, body) = ask(&operators, "/readyz").await;
    assert_eq!(status, 503, "{body}");
    assert_eq!(ask(&operators, "/livez").await.0, 200);

    limit_files(&server, None);
    until("it is ready again", || async { ask(&operators, "/readyz").await.0 == 200 }).await;
    for id in 6..=10 {
        assert_eq!(caller.cancel(id).await.status(), 204, "order {id}");
        left.retain(|other| *other != id);
    }
    assert_eq!(caller.listed().await, left);
    server.signal("TERM");
    assert_eq!(server.ended().await.0.code(), Some(0));

    let server = serve(directory.path());
    let caller = Caller { base: server.base(), ..caller };
    assert_eq!(caller.listed().await, left, "after a restart");
    let findings = store_orders::store::sqlite::check(directory.path()).unwrap();
    assert_eq!(findings.problems, Vec::<String>::new());
    assert_eq!((findings.orders.pending, findings.orders.cancelled), (90, 10));
    SqliteStore::open(directory.path()).unwrap();
}
