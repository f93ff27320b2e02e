//! The real program, stopped politely and killed without a warning.

use crate::harness::Key;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use store_orders::keys::Environment;
use store_orders::store::sqlite::{NewKey, SqliteStore};
use store_orders_api::plans::Plan;
use tempfile::TempDir;

/// The program as it serves the store of a directory; killed when it is dropped.
struct Program {
    child: Child,
    orders: String,
    http: reqwest::Client,
}

impl Program {
    fn serve(directory: &TempDir) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_store-orders"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap();
        Program { child, orders: format!("{base}/store/orders"), http: reqwest::Client::new() }
    }

    /// Sends so many requests; how many the minute has left after the last.
    async fn list(&self, key: &Key, times: u32) -> i64 {
        let mut remaining = None;
        for _ in 0..times {
            let answer = self.http.get(&self.orders).bearer_auth(&key.text).send().await.unwrap();
            let header = answer.headers()["x-ratelimit-remaining"].to_str().unwrap();
            remaining = Some(header.parse().unwrap());
        }
        remaining.unwrap()
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM.
    fn terminate(mut self) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_kill_loses_at_most_a_second_of_counting_and_a_stop_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.create_account("a", Plan::Business, None, chrono::Utc::now()).unwrap();
    let environment = Environment::Production;
    let new = NewKey { account: "a", environment, expires_after: None };
    let issued = store.issue_key(&new, chrono::Utc::now().timestamp_millis()).unwrap();
    let key = Key { id: issued.id, text: issued.key.expose().to_string() };

    let program = Program::serve(&directory);
    assert_eq!(program.list(&key, 20).await, 980);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(program.list(&key, 5).await, 975);
    program.kill();

    let program = Program::serve(&directory);
    let remaining = program.list(&key, 1).await;
    assert!((974..=979).contains(&remaining), "{remaining}: more than a second was lost");
    program.terminate();

    let program = Program::serve(&directory);
    assert_eq!(program.list(&key, 1).await, remaining - 1);
}
