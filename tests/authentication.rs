//! Keys: which ones the server accepts, and how it answers the others.

use std::time::Duration;
use store_orders::keys::Environment;
use store_orders::store::KeyCommands;
use store_orders_api::plans::Plan;
use test_server::{CapturedLog, Fault, TestSetup};
use testbed::{Key, wait_until};

const WITHOUT_KEY: &str = "Bearer realm=\"store-orders\"";
const WITH_KEY: &str = "Bearer realm=\"store-orders\", error=\"invalid_token\"";

#[tokio::test]
async fn every_wrong_authorization_gets_the_same_body() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let staging = setup.key_with("free-0", Environment::Staging, None);
    let revoked = setup.another_key("free-0");
    setup.store.revoke_key(&revoked.id, 0).unwrap();
    let expired = setup.key_with("free-0", Environment::Production, Some(Duration::ZERO));
    let server = setup.serve().await;
    let good = key.text.as_str();
    let mut typo = good.to_string();
    typo.replace_range(20..21, if &good[20..21] == "a" { "b" } else { "a" });
    let sent_key: Vec<String> = vec![
        format!("Bearer {}x", staging.text),
        format!("Bearer {}", revoked.text),
        format!("Bearer {}", expired.text),
        format!("Bearer {typo}"),
        format!("Bearer {good}x"),
        format!("Bearer {}", &good[..44]),
        format!("Bearer {good} {good}"),
        format!("Bearer {good},"),
        format!("Bearer \"{good}\""),
        format!("Bearer {}", good.to_uppercase()),
        "Bearer x".to_string(),
        "Bearer sto_live_".to_string(),
        format!("Bearer {}", "x".repeat(4_000)),
    ];
    let sent_none = vec!["Bearer".to_string(), format!("Basic {good}"), good.to_string()];
    let mut bodies = Vec::new();
    for (values, challenge) in [(sent_key, WITH_KEY), (sent_none, WITHOUT_KEY)] {
        for value in values {
            let answer = server.send("GET", "/v1/store/orders", &[("authorization", &value)]).await;
            answer.assert_error(401, "unauthorized");
            assert_eq!(answer.text("www-authenticate"), challenge);
            bodies.push(answer.body);
        }
    }
    let twice = [("authorization", &*format!("Bearer {good}")), ("authorization", "Bearer x")];
    let answer = server.send("GET", "/v1/store/orders", &twice).await;
    answer.assert_error(401, "unauthorized");
    assert_eq!(answer.text("www-authenticate"), WITH_KEY);
    bodies.push(answer.body);
    let path = format!("/v1/store/orders?api_key={good}&Authorization=Bearer%20{good}");
    let answer = server.send("GET", &path, &[]).await;
    assert_eq!(answer.text("www-authenticate"), WITHOUT_KEY);
    answer.assert_error(401, "unauthorized");
    bodies.push(answer.body);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "one body for all");
    let answer = server.send_with(&staging, "GET", "/v1/store/orders").await;
    answer.assert_error(401, "unauthorized");
    assert_eq!(answer.text("www-authenticate"), WITH_KEY);
    let said = String::from_utf8(answer.body.to_vec()).unwrap();
    let message = "This API key is for staging, and this is the address of production. ";
    assert!(said.contains(message) && !said.contains(&staging.text), "{said}");
}

#[tokio::test]
async fn a_key_expires_and_a_rotated_one_overlaps() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let short =
        setup.key_with("business-0", Environment::Production, Some(Duration::from_secs(90)));
    let rotation = store_orders::store::Rotation {
        key_id: &key.id,
        overlap: Duration::from_secs(60),
        label: None,
    };
    let successor = setup.store.rotate_key(rotation, 1_781_524_800_000).unwrap();
    let successor = Key { id: successor.id, text: successor.key.expose().to_string() };
    let server = setup.serve().await;
    let status =
        async |key: &Key| server.send_with(key, "GET", "/v1/store/orders").await.status.as_u16();
    assert_eq!(
        [status(&key).await, status(&successor).await, status(&short).await],
        [200, 200, 200]
    );
    server.setup.clock.advance(Duration::from_millis(59_999));
    assert_eq!(status(&key).await, 200);
    server.setup.clock.advance(Duration::from_millis(1));
    assert_eq!(
        [status(&key).await, status(&successor).await, status(&short).await],
        [401, 200, 200]
    );
    server.setup.clock.advance(Duration::from_secs(30));
    assert_eq!([status(&short).await, status(&successor).await], [401, 200]);
}

#[tokio::test]
async fn while_keys_cannot_be_checked_none_is_accepted_and_the_log_says_when() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    // No such path, so that the store is asked for the key alone.
    let status = async || server.send_with(&key, "GET", "/v1/x").await.status.as_u16();
    assert_eq!(status().await, 404);
    let events = |level: &str| {
        let lines = log.lines(level);
        let named = lines.iter().filter_map(|line| line["msg"].as_str().map(str::to_string));
        named.filter(|event| event.starts_with("checking keys")).collect::<Vec<_>>()
    };
    for fault in [Fault::Fails, Fault::Panics] {
        store.set(fault);
        wait_until("the key is refused", || async { status().await == 503 }).await;
        store.set(Fault::None);
        wait_until("the key is accepted", || async { status().await == 404 }).await;
    }
    assert_eq!(events("WARN"), ["checking keys against the store fails"; 2]);
    wait_until("the second one is logged", || async { events("INFO").len() == 2 }).await;
    assert_eq!(events("INFO"), ["checking keys against the store works again"; 2]);
}
