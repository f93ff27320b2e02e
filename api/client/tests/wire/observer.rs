//! Tests that the observer gets each attempt, and the wait that follows the attempt.

use crate::scripted::{Reply, ScriptedServer};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store_orders_client::{Client, ErrorKind, RetryPolicy};

type Observation = (&'static str, u32, Result<u16, ErrorKind>, Option<String>, Option<Duration>);

fn observed_client(
    server: &ScriptedServer,
    policy: RetryPolicy,
) -> (Client, Arc<Mutex<Vec<Observation>>>) {
    let observations = Arc::new(Mutex::new(Vec::new()));
    let log = observations.clone();
    let builder = Client::builder(&server.base_url, "sto_test_x").retry(policy);
    let builder = builder.on_attempt(move |attempt| {
        log.lock().unwrap().push((
            attempt.operation,
            attempt.number,
            attempt.outcome.map(|status| status.as_u16()),
            attempt.request_id.map(str::to_string),
            attempt.wait,
        ));
    });
    (builder.build().unwrap(), observations)
}

#[tokio::test]
async fn the_observer_gets_every_attempt_with_the_wait_that_follows() {
    let server = ScriptedServer::start([
        Reply::json(503, "").header("Retry-After: 1").header("x-request-id: a"),
        Reply::close(),
        Reply::json(204, "").header("x-request-id: c"),
    ])
    .await;
    let policy = RetryPolicy::default()
        .first_wait(Duration::from_millis(2))
        .longest_wait(Duration::from_millis(2));
    let (client, observations) = observed_client(&server, policy);
    assert_eq!(client.cancel_order(1).await.unwrap().attempts(), 3);

    let observations = observations.lock().unwrap();
    let id = |id: &str| Some(id.to_string());
    assert_eq!(observations.len(), 3, "{observations:?}");
    let second = Some(Duration::from_secs(1));
    assert_eq!(observations.first().unwrap(), &("cancel_order", 1, Ok(503), id("a"), second));
    let (operation, number, outcome, request_id, wait) = observations.get(1).unwrap();
    assert_eq!((*operation, *number), ("cancel_order", 2));
    assert_eq!((outcome, request_id), (&Err(ErrorKind::Connection), &None));
    assert!(wait.unwrap() <= Duration::from_millis(2), "{wait:?}");
    assert_eq!(observations.last().unwrap(), &("cancel_order", 3, Ok(204), id("c"), None));
}

#[tokio::test]
async fn each_call_counts_its_own_attempts() {
    let list = || Reply::json(200, "[]");
    let server = ScriptedServer::start([list(), Reply::json(409, ""), list()]).await;
    let (client, observations) = observed_client(&server, RetryPolicy::never());
    assert_eq!(client.list_orders().await.unwrap().attempts(), 1);
    assert_eq!(client.cancel_order(1).await.unwrap_err().attempts(), 1);
    assert_eq!(client.clone().list_orders().await.unwrap().attempts(), 1);
    let observations = observations.lock().unwrap();
    let attempts: Vec<_> =
        observations.iter().map(|(name, number, status, ..)| (*name, *number, *status)).collect();
    assert_eq!(
        attempts,
        [("list_orders", 1, Ok(200)), ("cancel_order", 1, Ok(409)), ("list_orders", 1, Ok(200))]
    );
}
