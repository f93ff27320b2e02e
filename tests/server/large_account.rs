//! An account of 300,000 keys: a change of it costs no more than one of any other.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testbed::{DataDir, wait_a_second_until};

const KEYS: i64 = 300_000;

/// Keys that nobody has.
fn add_keys(data: &DataDir) {
    let store = Connection::open(data.path().join("store.sqlite")).unwrap();
    // 256 MiB, so that no page of the index is written twice.
    store.pragma_update(None, "cache_size", -262_144).unwrap();
    let insert = "WITH RECURSIVE number (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number
                                                WHERE n < ?1)
                  INSERT INTO keys (id, account, environment, digest, issued_at, version)
                  SELECT 'key_' || n, account, environment, randomblob(32), issued_at, version
                  FROM number, (SELECT * FROM keys ORDER BY row LIMIT 1)";
    assert_eq!(store.execute(insert, [KEYS]).unwrap() as i64, KEYS - 1);
}

/// The rows of accounts and of keys that the last change of them wrote.
fn written(data: &DataDir) -> (i64, i64) {
    let store = Connection::open(data.path().join("store.sqlite")).unwrap();
    let written = "SELECT (SELECT count(*) FROM accounts WHERE version = versions.keys),
                          (SELECT count(*) FROM keys WHERE version = versions.keys)
                   FROM versions";
    store.query_row(written, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_large_account_writes_one_row_and_refuses_no_other_key() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=1).unwrap();
    let crowd = data.issue_enterprise_key("crowd", 1_000_000, 1_000_000).unwrap();
    add_keys(&data);
    let other = data.issue_enterprise_key("other", 1_000_000, 1_000_000).unwrap();
    let server = data.serve(&[]).unwrap();
    // No pet has such an id: 400 comes after the key was checked.
    let url = format!("{}/pets/x", server.base_url());
    let http = reqwest::Client::new();
    let send = |key: &str| http.get(&url).bearer_auth(key).send();
    assert_eq!(send(&crowd.text).await.unwrap().status(), 400);
    let is_over = Arc::new(AtomicBool::new(false));
    let others = {
        let (http, url, is_over) = (http.clone(), url.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut answers = 0;
            while !is_over.load(Ordering::Relaxed) {
                let answer = http.get(&url).bearer_auth(&other.text).send().await.unwrap();
                assert_eq!(answer.status(), 400, "another key was refused");
                answers += 1;
            }
            answers
        })
    };
    let changed = data.run_json(&["accounts", "set-plan", "crowd", "--plan", "free"]).unwrap();
    assert_eq!((&changed["perMinute"], &changed["keys"]), (&60.into(), &KEYS.into()));
    assert_eq!(written(&data), (1, 0));
    wait_a_second_until("the new limit", || async {
        send(&crowd.text).await.unwrap().headers()["x-ratelimit-limit"] == "60"
    })
    .await;
    let closed = data.run_json(&["accounts", "close", "crowd", "--yes"]).unwrap();
    assert_eq!(closed["revokedKeys"], KEYS);
    assert_eq!(written(&data), (1, 0));
    wait_a_second_until("the key's end", || async {
        send(&crowd.text).await.unwrap().status() == 401
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    assert!(others.await.unwrap() > 0);
}
