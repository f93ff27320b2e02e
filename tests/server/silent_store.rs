//! Tests the server with a store that does not answer: requests that need the store get a 503 after
//! 5 seconds.

use std::time::{Duration, Instant};
use store_orders_api::plans::Plan;
use test_server::{Fault, TestSetup, unknown_key};

/// The time that a request waits for the store before the server refuses the request.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_a_silent_store_get_503_after_five_seconds() {
    let mut setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1]).pet(7, "Rex");
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let unknown = unknown_key();
    let send = async |key, path| {
        let sent = Instant::now();
        (server.send_with(key, "GET", path).await, sent.elapsed())
    };
    let (list, pet) = ("/v1/store/orders", "/v1/pets/7");
    assert_eq!(send(&key, list).await.0.status, 200);
    store.set(Fault::Silent);
    let answers = async { tokio::join!(send(&key, list), send(&key, pet), send(&unknown, pet)) };
    // Allow three times the timeout, because the machine may be busy.
    let answers = tokio::time::timeout(3 * STORE_TIMEOUT, answers).await.unwrap();
    store.set(Fault::None);
    for (answer, took) in [answers.0, answers.1, answers.2] {
        answer.assert_error(503, "service_unavailable");
        answer.assert_common_headers();
        assert!(took >= STORE_TIMEOUT, "{took:?}");
    }
    for path in [list, pet] {
        assert_eq!(send(&key, path).await.0.status, 200, "{path} afterwards");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_that_waited_for_its_key_is_answered_five_seconds_after_its_arrival() {
    let mut setup = TestSetup::new();
    setup.pending([1]);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    store.set(Fault::Silent);
    let key = server.setup.key(Plan::Pro);
    let sent = Instant::now();
    let request = server.send_with(&key, "DELETE", "/v1/store/orders/1");
    let answer_key_look_up = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        store.answer_queries().await.unwrap();
    };
    let (answer, ()) = tokio::join!(request, answer_key_look_up);
    let took = sent.elapsed();
    store.set(Fault::None);
    answer.assert_error(503, "service_unavailable");
    assert!(took < Duration::from_millis(7_000), "{took:?}");
}
