//! Tests that the operator's commands show request counts and bans, and lift bans, with and without
//! a running server.

use serde_json::{Value, json};
use test_server::wire_check::WireCheckProxy;
use testbed::{DataDir, Key, ServerProcess, wait_until};

/// Returns the error code that a list request with `key` gets, or `None` if the response is a 200.
async fn refusal(server: &ServerProcess, key: &Key) -> Option<String> {
    let proxy = WireCheckProxy::before(server.address().unwrap());
    let list = reqwest::Client::new().get(format!("{}/store/orders", proxy.base_url()));
    let answer = list.bearer_auth(&key.text).send().await.unwrap();
    let is_admitted = answer.status() == 200;
    let body: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    (!is_admitted).then(|| body["code"].as_str().unwrap().to_string())
}

fn listed(data: &DataDir, key: &Key) -> Value {
    let keys = data.run_json(&["keys", "list"]).unwrap();
    keys.as_array().unwrap().iter().find(|listed| listed["id"] == key.id).unwrap().clone()
}

fn usage(data: &DataDir, account: &str) -> Value {
    data.run_json(&["accounts", "show", account]).unwrap()["usage"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn bans_are_shown_and_lifted_with_and_without_a_running_server() {
    let data = DataDir::temporary().unwrap();
    let key = data.issue_enterprise_key("acme", 1, 1_000).unwrap();
    let other = data.issue_enterprise_key("globex", 100, 1_000).unwrap();
    let unused =
        json!({ "minute": { "used": 0, "limit": 1 }, "day": { "used": 0, "limit": 1_000 } });
    assert_eq!(usage(&data, "acme"), unused, "no server has run yet");
    let server = data.serve(&[]).unwrap();
    // Send requests until the key is banned. A fixed number of requests may be too few, because a
    // new minute may begin and admit a request.
    wait_until("the key is banned", || async {
        refusal(&server, &key).await.as_deref() == Some("key_banned")
    })
    .await;
    wait_until("the ban is shown", || async { listed(&data, &key).get("bannedUntil").is_some() })
        .await;
    assert_eq!(refusal(&server, &other).await, None);
    assert_eq!(listed(&data, &key)["state"], "banned");
    assert_eq!(data.run_json(&["keys", "list", "--state", "banned"]).unwrap()[0]["id"], key.id);
    let until = listed(&data, &key)["bannedUntil"].as_str().unwrap().to_string();
    let until: chrono::DateTime<chrono::Utc> = until.parse().unwrap();
    let remaining = (until - chrono::Utc::now()).num_seconds();
    assert!((1..=301).contains(&remaining), "{remaining}");
    assert!(listed(&data, &other).get("bannedUntil").is_none());
    assert!(data.run(&["keys", "list"]).unwrap().contains("bannedUntil"));
    wait_until("the count is written", || async { usage(&data, "globex")["day"]["used"] == 1 })
        .await;
    let shown = usage(&data, "globex");
    assert_eq!(shown["minute"]["limit"], 100, "{shown}");
    assert!(shown["day"]["resetsAt"].as_str().unwrap().ends_with('Z'), "{shown}");
    assert!(shown["ageSeconds"].is_u64(), "{shown}");
    let text = data.run(&["accounts", "show", "globex"]).unwrap();
    assert!(text.contains("day        1 of 1000 used, resets at 2"), "{text}");

    server.stop().unwrap();
    assert!(listed(&data, &key).get("bannedUntil").is_some(), "without a server too");
    let unbanned = data.run_json(&["keys", "unban", &key.id]).unwrap();
    assert_eq!((&unbanned["id"], &unbanned["state"]), (&json!(key.id), &json!("active")));
    assert!(listed(&data, &key).get("bannedUntil").is_none());
    let server = data.serve(&[]).unwrap();
    // The ban is lifted, but the window that the earlier requests exhausted may still be open.
    let refusal = refusal(&server, &key).await;
    assert!(refusal.is_none_or(|code| code == "rate_limit_exceeded"));
}

#[test]
fn keys_are_listed_also_if_the_counts_cannot_be_read() {
    let data = DataDir::temporary().unwrap();
    let key = data.issue_enterprise_key("acme", 1, 1_000).unwrap();
    std::fs::write(data.path().join("limits.snapshot"), "no limits".repeat(100)).unwrap();
    assert!(data.run(&["keys", "list"]).unwrap().contains(&key.id));
    assert!(data.run(&["accounts", "show", "acme"]).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_counts_of_another_store_are_not_shown() {
    let [data, other] = [(); 2].map(|()| DataDir::temporary().unwrap());
    let keys = [&data, &other].map(|data| data.issue_enterprise_key("acme", 100, 1_000).unwrap());
    let server = data.serve(&[]).unwrap();
    assert_eq!(refusal(&server, &keys[0]).await, None);
    server.stop().unwrap();
    assert_eq!(usage(&data, "acme")["day"]["used"], 1);
    let file = "limits.snapshot";
    std::fs::copy(data.path().join(file), other.path().join(file)).unwrap();
    assert_eq!(usage(&other, "acme")["day"]["used"], 0);
}
