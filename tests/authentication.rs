//! Tests which API keys the server accepts, and how it responds to all others.

use std::time::Duration;
use store_orders::api_key::{ApiKey, Environment};
use store_orders::store::{AccountCommands, KeyCommands};
use store_orders_api::plans::Plan;
use test_server::{Answer, CapturedLog, Fault, TestSetup};
use testbed::{Key, wait_until};

const WITHOUT_KEY: &str = "Bearer realm=\"store-orders\"";
const WITH_KEY: &str = "Bearer realm=\"store-orders\", error=\"invalid_token\"";

fn assert_unauthorized(answer: &Answer, challenge: &str) -> String {
    let message = answer.assert_error(401, "unauthorized");
    assert_eq!(answer.text("www-authenticate"), challenge, "{message}");
    message
}

#[tokio::test]
async fn a_401_describes_the_request_but_not_the_state_of_the_key() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let staging = setup.key_with("free-0", Environment::Staging, None);
    let revoked = setup.another_key("free-0");
    setup.store.revoke_key(&revoked.id, 0).unwrap();
    let expired = setup.key_with("free-0", Environment::Production, Some(Duration::ZERO));
    let unknown = ApiKey::generate(Environment::Production);
    let server = setup.serve().await;
    let good = key.text.as_str();
    let mut typo = good.to_string();
    typo.replace_range(20..21, if &good[20..21] == "a" { "b" } else { "a" });
    let invalid = "This API key is not valid: it is unknown, expired or revoked. ";
    let malformed = "The text after Bearer is not an API key: ";
    let check_digits = "The check digits at the end of this API key do not match ";
    let no_scheme = "The Authorization header does not begin with the scheme Bearer. ";
    let basic = "The Authorization header has the scheme Basic. ";
    let no_token = "The Authorization header has no key after Bearer and a space. ";
    let mut invalid_messages = Vec::new();
    for (value, challenge, expected) in [
        (format!("Bearer {}", unknown.expose()), WITH_KEY, invalid),
        (format!("Bearer {}", revoked.text), WITH_KEY, invalid),
        (format!("Bearer {}", expired.text), WITH_KEY, invalid),
        (format!("Bearer {typo}"), WITH_KEY, check_digits),
        (format!("Bearer {}x", staging.text), WITH_KEY, malformed),
        (format!("Bearer {good}x"), WITH_KEY, malformed),
        (format!("Bearer {}", &good[..44]), WITH_KEY, malformed),
        (format!("Bearer {good} {good}"), WITH_KEY, malformed),
        (format!("Bearer {good},"), WITH_KEY, malformed),
        (format!("Bearer \"{good}\""), WITH_KEY, malformed),
        (format!("Bearer {}", good.to_uppercase()), WITH_KEY, malformed),
        (format!("Bearer {}", "x".repeat(4_000)), WITH_KEY, malformed),
        ("Bearer".to_string(), WITHOUT_KEY, no_token),
        (format!("bearer\t{good}"), WITHOUT_KEY, no_token),
        (good.to_string(), WITHOUT_KEY, no_scheme),
        (format!("Bearer{good}"), WITHOUT_KEY, no_scheme),
        (format!("Token {good}"), WITHOUT_KEY, no_scheme),
        (format!("Basic {good}"), WITHOUT_KEY, basic),
    ] {
        let headers = [("authorization", &*value), ("x-api-key", good)];
        let answer = server.send("GET", "/v1/store/orders", &headers).await;
        let message = assert_unauthorized(&answer, challenge);
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains(&good[9..20]) && !message.contains(&typo[39..]), "{message}");
        if expected == invalid {
            invalid_messages.push(message);
        }
    }
    invalid_messages.dedup();
    assert_eq!(invalid_messages.len(), 1, "{invalid_messages:?}");

    let twice = [("authorization", &*format!("Bearer {good}")), ("authorization", "Bearer x")];
    let answer = server.send("GET", "/v1/store/orders", &twice).await;
    let message = assert_unauthorized(&answer, WITH_KEY);
    assert!(message.contains("more than one Authorization header"), "{message}");

    let path = format!("/v2/store/orders?limit=2&API_KEY={good}&Authorization=Bearer%20{good}");
    let message = assert_unauthorized(&server.send("GET", &path, &[]).await, WITHOUT_KEY);
    assert!(message.contains("a key in the query string is not read"), "{message}");
    let answer = server.send("GET", "/v1/store/orders", &[("x-api-key", good)]).await;
    let message = assert_unauthorized(&answer, WITHOUT_KEY);
    assert!(message.contains("X-API-Key is not read"), "{message}");
    let message = assert_unauthorized(
        &server.send("GET", "/v1/store/orders?limit=2", &[]).await,
        WITHOUT_KEY,
    );
    assert!(message.starts_with("The request has no Authorization header. "), "{message}");

    let answer = server.send_with(&staging, "GET", "/v1/store/orders").await;
    let message = assert_unauthorized(&answer, WITH_KEY);
    let wrong_environment = "This API key is for staging, and this is the address of production. ";
    assert!(message.starts_with(wrong_environment), "{message}");
}

#[tokio::test]
async fn a_key_expires_and_a_rotated_key_overlaps_its_successor() {
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
async fn request_log_lines_have_the_current_name_of_the_account() {
    let log = CapturedLog::new();
    let setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let last_name = || {
        let last = log.lines("INFO").into_iter().rfind(|line| line["msg"] == "request");
        last.unwrap()["account_name"].clone()
    };
    let logged = async || {
        server.send_with(&key, "GET", "/v1/store/orders").await;
        last_name()
    };
    assert_eq!(logged().await, "business-0");
    server.setup.store.rename_account("business-0", "Acme \"A\" GmbH").unwrap();
    wait_until("the new name is logged", || async { logged().await == "Acme \"A\" GmbH" }).await;
    server.send("GET", "/v1/store/orders", &[]).await;
    assert!(last_name().is_null());
}

#[tokio::test]
async fn no_key_is_accepted_while_keys_cannot_be_checked_and_the_log_says_when() {
    let log = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&log);
    let key = setup.key(Plan::Business);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    // The API has no path `/v1/x`, so this request needs the store only to check the key.
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
