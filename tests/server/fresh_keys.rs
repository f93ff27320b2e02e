//! A key that a command issued a moment ago, among clients whose keys were never issued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store_orders::keys::{ApiKey, Environment};
use testbed::DataDir;
use tokio::task::JoinSet;

const FRESH_KEYS: usize = 10;
const FLOODING_CLIENTS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_works_as_soon_as_it_was_issued_beside_a_flood_of_unknown_ones() {
    let data = DataDir::temporary().unwrap();
    data.issue_key("acme", "business").unwrap();
    let server = data.serve(&[]).unwrap();
    // No pet has such an id: 400 comes after the key was checked.
    let url = format!("{}/pets/x", server.base_url());
    let http = reqwest::Client::new();
    let (over, unknown) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut flood = JoinSet::new();
    for _ in 0..FLOODING_CLIENTS {
        let (http, url) = (http.clone(), url.clone());
        let (over, unknown) = (Arc::clone(&over), Arc::clone(&unknown));
        flood.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let key = ApiKey::generate(Environment::Production);
                let answer = http.get(&url).bearer_auth(key.expose()).send().await.unwrap();
                // Above its limit, an address without a valid key has 429.
                assert!([401, 429].contains(&answer.status().as_u16()), "{}", answer.status());
                unknown.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    for number in 1..=FRESH_KEYS {
        let key = data.issue_another_key("acme").unwrap();
        let answer = http.get(&url).bearer_auth(&key.text).send().await.unwrap();
        assert_eq!(answer.status(), 400, "the first request with fresh key {number}");
    }
    over.store(true, Ordering::Relaxed);
    while let Some(client) = flood.join_next().await {
        client.unwrap();
    }
    assert!(unknown.load(Ordering::Relaxed) > 100, "there was no flood: {unknown:?}");
}
