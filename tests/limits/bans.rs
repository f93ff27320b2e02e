//! Strikes and bans: what happens to a key that keeps sending after a 429.

use super::windows::assert_admitted;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store_orders::clock::Clock;
use store_orders::rate_limiter::KeyBan;
use store_orders::store::{AccountCommands, KeyCommands};
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, Fault, FaultyStore, NOON, TestServer, TestSetup};
use testbed::{Key, wait_a_second_until, wait_until};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// The length of a burst. A burst begins with a key's first 429 in a minute. The 429s in a burst
/// are not strikes.
pub const BURST: Duration = Duration::from_secs(2);

/// Sends requests until the key is banned. The key's limit must be one request a minute. Returns
/// the length of the ban in seconds.
async fn ban(server: &TestServer, key: &Key) -> u64 {
    assert_admitted(server, key, 1).await;
    server.list_with(key).await.assert_limited("rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    server.list_with(key).await.assert_limited("key_banned")
}

async fn code(server: &TestServer, key: &Key) -> String {
    server.list_with(key).await.json()["code"].as_str().unwrap().to_string()
}

async fn code_if_refused(server: &TestServer, key: &Key) -> Option<String> {
    let answer = server.list_with(key).await;
    (answer.status != 200).then(|| answer.json()["code"].as_str().unwrap().to_string())
}

#[tokio::test]
async fn a_key_is_banned_after_as_many_further_refusals_as_requests_a_minute() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(3, 1_000);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 3).await;
    for _ in 0..100 {
        let refused = server.list_with(&key).await;
        assert_eq!(refused.assert_limited("rate_limit_exceeded"), 60, "a burst");
    }
    server.setup.clock.advance(BURST);
    for _ in 0..2 {
        let refused = server.list_with(&key).await;
        assert_eq!(refused.assert_limited("rate_limit_exceeded"), 58);
    }
    let banned = server.list_with(&key).await;
    assert_eq!(banned.assert_limited("key_banned"), 300);
    assert_eq!(banned.rate_limit(), (3, 0, 302));
}

#[tokio::test]
async fn requests_during_a_ban_do_not_lengthen_it() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    assert_eq!(ban(&server, &key).await, 300);
    for remaining in (1..300).rev().step_by(23) {
        let answer = server.list_with(&key).await;
        let now = answer.assert_limited("key_banned");
        server.setup.clock.advance(Duration::from_secs(now - remaining));
        for _ in 0..3 {
            let answer = server.send_with(&key, "DELETE", "/v1/store/orders/1").await;
            assert_eq!(answer.assert_limited("key_banned"), remaining);
            assert_eq!(answer.rate_limit(), (1, 0, 302));
        }
    }
    let remaining = server.list_with(&key).await.assert_limited("key_banned");
    server.setup.clock.advance(Duration::from_secs(remaining) - Duration::from_millis(1));
    assert_eq!(code(&server, &key).await, "key_banned");
    server.setup.clock.advance(Duration::from_millis(1));
    assert_admitted(&server, &key, 1).await;
}

#[tokio::test]
async fn bans_double_to_an_hour_and_a_day_without_one_resets_them() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    for length in [300, 600, 1_200, 2_400, 3_600, 3_600] {
        assert_eq!(ban(&server, &key).await, length);
        server.setup.clock.advance(Duration::from_secs(length));
    }
    let day = Duration::from_secs(86_400);
    server.setup.clock.advance(day - BURST - Duration::from_millis(1));
    assert_eq!(ban(&server, &key).await, 3_600, "24 hours are not over");
    server.setup.clock.advance(Duration::from_secs(3_600) + day);
    assert_eq!(ban(&server, &key).await, 300);
    server.setup.clock.advance(Duration::from_secs(300));
    assert_eq!(ban(&server, &key).await, 600);
}

#[tokio::test]
async fn two_keys_of_an_account_share_windows_and_not_bans() {
    let setup = TestSetup::new();
    let first = setup.enterprise_key(2, 1_000);
    let second = setup.another_key("enterprise-0");
    let server = setup.serve().await;
    assert_admitted(&server, &first, 1).await;
    assert_admitted(&server, &second, 1).await;
    assert_eq!(code(&server, &first).await, "rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    assert_eq!(code(&server, &first).await, "rate_limit_exceeded");
    assert_eq!(code(&server, &first).await, "key_banned");
    assert_eq!(code(&server, &second).await, "rate_limit_exceeded");
    server.setup.clock.advance(Duration::from_secs(60));
    assert_eq!(code(&server, &first).await, "key_banned");
    assert_admitted(&server, &second, 2).await;
    assert_eq!(code(&server, &second).await, "rate_limit_exceeded");
}

#[tokio::test]
async fn bans_survive_a_restart_and_strikes_do_not() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(2, 1_000);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 2).await;
    for _ in 0..2 {
        assert_eq!(code(&server, &key).await, "rate_limit_exceeded");
        server.setup.clock.advance(BURST);
    }
    let server = server.stop().await.serve().await;
    assert_eq!(code(&server, &key).await, "rate_limit_exceeded", "no strikes");
    server.setup.clock.advance(BURST);
    assert_eq!(code(&server, &key).await, "rate_limit_exceeded");
    assert_eq!(code(&server, &key).await, "key_banned");
    let setup = server.stop().await;
    setup.clock.advance(Duration::from_millis(100_500));
    // Remove the counts file, to show that the ban comes from the store.
    setup.close_limits_file();
    std::fs::remove_file(setup.directory.path().join("limits.snapshot")).unwrap();
    let server = setup.restarted().serve().await;
    let banned = server.list_with(&key).await;
    assert_eq!(banned.assert_limited("key_banned"), 200);
    assert_eq!(banned.rate_limit(), (2, 0, 306));
    server.setup.clock.advance(Duration::from_millis(199_500));
    assert_admitted(&server, &key, 2).await;
    let server = server.stop().await.serve().await;
    assert_eq!(code(&server, &key).await, "rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    assert_eq!(code(&server, &key).await, "rate_limit_exceeded");
    let banned = server.list_with(&key).await;
    assert_eq!(banned.assert_limited("key_banned"), 600, "twice as long as the one before");
}

#[tokio::test]
async fn a_ban_is_stored_and_holds_at_another_server_within_a_second() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let sibling = setup.another_key("enterprise-0");
    let server = setup.serve().await;
    let stored = || server.setup.store.key_of_id(&key.id).unwrap().key.ban;
    assert_eq!(stored(), KeyBan::default());
    assert_eq!(ban(&server, &key).await, 300);
    let ends_at_ms = server.setup.clock.now().wall_ms() + 300_000;
    let expected = KeyBan { ends_at_ms, seconds: 300, number: 1 };
    wait_a_second_until("the ban is stored", || async { stored() == expected }).await;
    // The other server uses the same store, but has its own windows and strikes.
    let mut other = TestSetup::new();
    other.store = server.setup.store.clone();
    other.clock = Arc::clone(&server.setup.clock);
    let other = other.serve().await;
    assert_eq!(other.list_with(&key).await.assert_limited("key_banned"), 300);
    assert_admitted(&other, &sibling, 1).await;
    other.setup.store.unban_key(&key.id).unwrap();
    // The first server has received no request since the ban was stored, but must still learn that
    // the ban was lifted.
    for server in [&server, &other] {
        server.setup.clock.advance(Duration::from_secs(60));
        wait_a_second_until("the ban is lifted", || async {
            code_if_refused(server, &key).await.is_none()
        })
        .await;
    }
    other.setup.clock.advance(Duration::from_secs(60));
    assert_eq!(ban(&other, &key).await, 300);
    wait_a_second_until("the ban holds at the first server", || async {
        code_if_refused(&server, &key).await.as_deref() == Some("key_banned")
    })
    .await;
}

#[tokio::test]
async fn a_ban_that_cannot_be_stored_at_first_holds_and_is_stored_later() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(1, 1_000);
    let other = setup.enterprise_key(100, 1_000);
    let server = setup.serve().await;
    // Block writes to the store, as another process would with a long write transaction.
    let writer = rusqlite::Connection::open(server.setup.store.path()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(ban(&server, &key).await, 300);
    let is_logged = || captured.lines("WARN").iter().any(|line| line["msg"] == "bans not stored");
    wait_until("the problem is logged", || async { is_logged() }).await;
    assert_eq!(code(&server, &key).await, "key_banned");
    assert_admitted(&server, &other, 1).await;
    let stored = || server.setup.store.key_of_id(&key.id).unwrap().key.ban.seconds;
    assert_eq!(stored(), 0);
    writer.execute_batch("ROLLBACK").unwrap();
    wait_until("the ban is stored", || async { stored() == 300 }).await;
}

#[tokio::test]
async fn a_new_plan_lifts_no_ban() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    assert_eq!(ban(&server, &key).await, 300);
    server.setup.store.set_plan("enterprise-0", Plan::Business, None).unwrap();
    let (answer, _) = super::plans::until_limit(&server, &key, 1_000).await;
    assert_eq!(answer.assert_limited("key_banned"), 300);
}

#[tokio::test]
async fn a_ban_logs_one_warning_and_request_lines_have_the_refusal() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(1, 1_000);
    let account = setup.store.accounts(0).unwrap()[0].0.id;
    let server = setup.serve().await;
    ban(&server, &key).await;
    for _ in 0..3 {
        server.list_with(&key).await.assert_limited("key_banned");
    }
    server.send("GET", "/v1/store/orders", &[]).await;
    let warnings: Vec<_> =
        captured.lines("WARN").into_iter().filter(|line| line["msg"] == "key banned").collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["key_id"], key.id);
    assert_eq!(warnings[0]["account"], account);
    assert_eq!(warnings[0]["seconds"], 300);
    assert_eq!(warnings[0]["until"], "2026-06-15T12:05:02Z");
    let requests = captured.lines("INFO").into_iter().filter(|line| line["msg"] == "request");
    let requests: Vec<_> = requests.collect();
    let accounts: Vec<_> = requests.iter().map(|line| line["account"].as_i64()).collect();
    assert_eq!(accounts, [[Some(account); 6].as_slice(), &[None]].concat());
    assert!(requests.iter().all(|line| line["bytes"].as_u64().is_some_and(|bytes| bytes > 0)));
    let refusals: Vec<_> = requests.iter().map(|line| line["refusal"].clone()).collect();
    let expected = json!([null, "rate_limited", "banned", "banned", "banned", "banned", "no_key"]);
    assert_eq!(json!(refusals), expected);
}

#[tokio::test]
async fn a_ban_whose_client_disconnected_is_counted_and_logged() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(3, 1_000);
    let server = setup.serve().await;
    let is_banned = || async {
        let mut client = TcpStream::connect(server.direct_address()).await.unwrap();
        client.write_all(&key.http1("GET /v1/store/orders")).await.unwrap();
        drop(client);
        server.setup.clock.advance(Duration::from_millis(100));
        captured.lines("WARN").iter().any(|line| line["msg"] == "key banned")
    };
    wait_until("a ban is logged", is_banned).await;
    assert_eq!(code(&server, &key).await, "key_banned");
    let logged = captured.lines("WARN");
    let bans: Vec<_> = logged.iter().filter(|line| line["msg"] == "key banned").collect();
    assert_eq!((bans.len(), &bans[0]["key_id"]), (1, &json!(key.id)));
}

#[tokio::test]
async fn a_lifted_ban_ends_within_a_second_and_does_not_lengthen_the_next() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let other = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    for (lifting, wall) in [NOON, NOON, NOON - Duration::from_secs(86_400)].iter().enumerate() {
        assert_eq!(ban(&server, &key).await, 300, "lifting {lifting}");
        server.setup.clock.advance(Duration::from_secs(60));
        // A ban can be lifted even after the wall clock was set back.
        server.setup.clock.set_wall(*wall);
        assert_eq!(code(&server, &key).await, "key_banned");
        server.setup.store.unban_key(&key.id).unwrap();
        // At the earlier wall time, the minute's window is still open, so the limit may refuse the
        // request.
        wait_a_second_until("the ban is lifted", || async {
            code_if_refused(&server, &key).await.as_deref() != Some("key_banned")
        })
        .await;
        server.setup.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(ban(&server, &other).await, 300);
    server.setup.clock.advance(Duration::from_secs(300));
    assert_eq!(ban(&server, &other).await, 600, "no other key's ban is forgotten");
}

#[tokio::test]
async fn a_ban_is_lifted_while_the_server_is_down() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    ban(&server, &key).await;
    let setup = server.stop().await;
    setup.clock.advance(Duration::from_secs(60));
    setup.store.unban_key(&key.id).unwrap();
    let server = setup.restarted().serve().await;
    assert_eq!(ban(&server, &key).await, 300);
    let server = server.stop().await.serve().await;
    assert_eq!(code(&server, &key).await, "key_banned", "the new ban is not lifted");
}

/// The key is banned although the store is silent, because the server decides on bans without the
/// store.
async fn ban_with_silent_store(mut setup: TestSetup) -> (TestServer, Arc<FaultyStore>, Key) {
    let (store, key) = (setup.add_faulty_store(), setup.enterprise_key(1, 1_000));
    let server = setup.serve().await;
    assert_admitted(&server, &key, 1).await;
    server.list_with(&key).await.assert_limited("rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    store.set(Fault::Silent);
    server.list_with(&key).await.assert_limited("key_banned");
    (server, store, key)
}

/// A distant store may take long to write a ban, so a stopping server must wait for the write.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_until_the_last_bans_are_stored() {
    let (server, store, key) = ban_with_silent_store(TestSetup::new()).await;
    let stopping = async { server.stop().await.store.key_of_id(&key.id).unwrap().key.ban.seconds };
    let answering = async {
        sleep(Duration::from_secs(1)).await;
        store.set(Fault::None);
    };
    assert_eq!(tokio::join!(stopping, answering).0, 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn bans_that_are_not_stored_before_the_server_stops_are_logged_with_their_number() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    setup.config.shutdown_timeout = Duration::from_secs(2);
    let (server, _store, _) = ban_with_silent_store(setup).await;
    server.stop().await;
    let warnings = log.lines("WARN");
    let lost = warnings.iter().find(|line| line["msg"] == "last bans not stored");
    assert_eq!(lost.map(|line| &line["bans"]), Some(&json!(1)), "{}", log.text());
}
